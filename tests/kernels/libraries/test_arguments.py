"""Null pointers, wild handles and absurd sizes are errors: the process goes on."""

import pytest

NOTHING = """
import ctypes, sys
import torch
from morph.backends.tables import library

file = sys.argv[1]
table, served = library.load(file.partition(".so")[0]), ctypes.CDLL(file)
torch.zeros(1, device="cuda")
names = sorted(name for name in table.releases[file] if table.entry(name).is_served)
for name in names:
    print(name, served[name](*[ctypes.c_uint64()] * 30), flush=True)
"""

WILD = """
import ctypes, random, sys
import torch
from morph.base import toml
from morph.backends.tables.package import PACKAGES

file, section = sys.argv[1:]
signatures = toml.loads((PACKAGES / "cuda" / "_morph" / "signatures.toml").read_text())[section]
served, place = ctypes.CDLL(file), (ctypes.c_ubyte * 65536)()
memory = torch.zeros(4096, dtype=torch.uint8, device="cuda")
HANDLES = [1, 7, 8, 4096, 2**31, 2**47, 2**64 - 8]
SIZES = [1, 64, 2**31, 2**40, 2**62, 2**63 - 1, 2**63, 2**64 - 4096, 2**64 - 1]
POINTERS = [0, memory.data_ptr(), memory.data_ptr() + 4000]
wild = random.Random(0)
for name in sorted(signatures) * 8:
    words = signatures[name].split()
    if "memory_handle" in words or "event_handle" in words:  # which are passed by value
        continue
    values = []
    for word in words:
        kinds = {"size": SIZES, "stream": HANDLES, "event": HANDLES, "context": HANDLES}
        kinds |= dict.fromkeys(("pointer", "address"), POINTERS)
        one = ctypes.addressof(place) if word[0] == "*" else wild.choice(kinds.get(word, [0, 1, 3, 2**31]))
        values.append(0 if word == "words" else one)
    print(name, values, flush=True)
    served[name](*map(ctypes.c_uint64, values))
print("alive")
"""


@pytest.mark.long
@pytest.mark.parametrize(
    ("file", "fails"),
    [
        ("libcudart.so.12", {"cudaStreamGetFlags": 1, "cudaLaunchHostFunc": 1, "cudaEventQuery": 400}),
        ("libcudart.so.13", {"cudaGetDeviceFlags": 1, "cudaChooseDevice": 1, "cudaMallocPitch": 1}),
        ("libcuda.so.1", {"cuCtxGetFlags": 1, "cuStreamGetCtx": 1, "cuDeviceGetByPCIBusId": 1}),
        ("libcuda.so.1", {"cuModuleLoadData": 1, "cuLaunchKernel": 400, "cuModuleGetFunction": 1}),
        ("libnvrtc.so.13", {"nvrtcCreateProgram": 3, "nvrtcCompileProgram": 4, "nvrtcVersion": 3}),
        ("libcublas.so.13", {"cublasSgemm_v2": 1, "cublasGetVersion_v2": 7}),
        ("libcufft.so.12", {"cufftGetVersion": 4}),
        ("libcurand.so.10", {"curandGetVersion": 104}),
        ("libcusparse.so.12", {"cusparseCreate": 3, "cusparseSpMV": 1, "cusparseScsrilu02": 1}),
        ("libcusolver.so.12", {"cusolverDnCreate": 3, "cusolverDnSpotrf": 1}),
        ("libnccl.so.2", {"ncclGetUniqueId": 4, "ncclGetVersion": 4, "ncclCommInitRank": 4}),
        ("libnvidia-ml.so.1", {"nvmlDeviceGetName": 1}),  # nvmlInit was not called
        ("libnvToolsExt.so.1", {}),
    ],
)
def test_null_pointers_are_errors(platform, file, fails):
    codes = dict(line.split() for line in platform.run(NOTHING, file).stdout.splitlines())
    assert {name: int(codes[name]) for name in fails} == fails


@pytest.mark.parametrize(("file", "section"), [("libcudart.so.13", "runtime"), ("libcuda.so.1", "driver")])
def test_no_handle_and_no_size_ends_the_process(platform, file, section):
    assert platform.run(WILD, file, section).stdout.splitlines()[-1] == "alive"
