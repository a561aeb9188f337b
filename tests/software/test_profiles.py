"""Device profiles: what a program is told of the card that the device stands for, and what it is refused."""

import dataclasses
import pathlib
import uuid

import pytest

from morph.software import cards
from morph.software.properties import DeviceProperties
from tests.platforms import Platform, complete, describe

pytestmark = pytest.mark.platforms("cpu")
REQUIRED = {
    *("name", "total_memory", "major", "minor", "multi_processor_count", "L2_cache_size", "clock_rate"),
    *("memory_clock_rate", "memory_bus_width", "max_threads_per_multi_processor"),
    *("shared_memory_per_block_optin", "shared_memory_per_multiprocessor"),
}

REPORTED = """
import subprocess, sys, torch, pynvml

properties = torch.cuda.get_device_properties(0)
assert (properties.name, properties.total_memory) == ("NVIDIA H100 80GB HBM3", 85028896768)
assert torch.cuda.get_device_capability() == (9, 0) and "sm_90" in torch.cuda.get_arch_list()
assert (properties.multi_processor_count, properties.shared_memory_per_block_optin) == (132, 232448)
free, total = torch.cuda.mem_get_info()
assert total == properties.total_memory and free > 64 << 30
torch.empty(60 << 30, dtype=torch.uint8, device="cuda")  # more than this host has, and not written to
before = torch.cuda.memory_allocated()
torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda")
assert torch.cuda.memory_allocated() - before == 4096 * 8 * 1024  # cuBLAS's workspace there
pynvml.nvmlInit()
handle = pynvml.nvmlDeviceGetHandleByIndex(0)
assert pynvml.nvmlDeviceGetName(handle) == properties.name
assert pynvml.nvmlDeviceGetCudaComputeCapability(handle) == (9, 0)
for command in (
    ["nvidia-smi", "--query-gpu=name,compute_cap,memory.total", "--format=csv,noheader", "--id=0"],
    [sys.executable, "-c", "import torch; print(torch.cuda.get_device_name(0))"],
):
    print(subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip())
"""

TOO_MUCH = """
import torch

assert torch.cuda.mem_get_info()[1] == 15843721216
try:
    torch.empty(16 << 30, dtype=torch.uint8, device="cuda")
except torch.cuda.OutOfMemoryError as error:
    print("14.76 GiB" in str(error))
"""

BEFORE_80 = """
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel

assert not torch.cuda.is_bf16_supported(including_emulation=False)
x = torch.randn(1, 2, 16, 64, device="cuda")

def takes(kernel, dtype):
    query = x.to(dtype)
    try:
        with sdpa_kernel(kernel):
            torch.nn.functional.scaled_dot_product_attention(query, query, query)
    except RuntimeError as error:
        assert "No available kernel" in str(error)
        return False
    return True

for kernel in SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.CUDNN_ATTENTION:
    print(kernel.name, *(takes(kernel, dtype) for dtype in (torch.float16, torch.bfloat16)))
"""

FLOAT8 = """
import torch

eight = torch.ones(16, 16, device="cuda").to(torch.float8_e4m3fn)
one = torch.ones((), device="cuda")
try:
    print(torch._scaled_mm(eight, eight.t(), scale_a=one, scale_b=one, out_dtype=torch.bfloat16).sum().item())
except RuntimeError as error:
    print("compute capability >= 9.0 or 8.9" in str(error))
"""

EIGHT_BITS = """
import ctypes, torch

library = ctypes.CDLL("libnccl.so.2")
library.ncclGetErrorString.restype = ctypes.c_char_p
communicator = (ctypes.c_void_p * 1)()
assert library.ncclCommInitAll(communicator, 1, None) == 0
x = torch.ones(4, device="cuda").to(torch.float8_e4m3fn)
place, count, handle = ctypes.c_void_p(x.data_ptr()), ctypes.c_size_t(4), ctypes.c_void_p(communicator[0])
code = library.ncclAllReduce(place, place, count, 10, 0, handle, None)
assert library.ncclBroadcast(place, place, count, 10, 0, handle, None) == 0  # which only copies
print(code, b"begins with sm90" in library.ncclGetErrorString(code))
"""

LIMITS = """
import ctypes, torch
from torch.nn.attention import SDPBackend

runtime, value = ctypes.CDLL("libcudart.so"), ctypes.c_int()
found = []
for attribute in (39, 106, 81, 97, 111, 82, 12):  # threads, blocks, shared memory, registers
    assert runtime.cudaDeviceGetAttribute(ctypes.byref(value), attribute, 0) == 0
    found.append(value.value)
widths = [(128, 128), (192, 128), (256, 256)]
takes = []
for width, of_value in widths:
    query, own = (torch.empty(1, 1, 16, size, device="cuda", dtype=torch.half) for size in (width, of_value))
    given = torch.backends.cuda.SDPAParams(query, query, own, None, 0.0, False, False)
    takes.append(torch.backends.cuda.can_use_cudnn_attention(given))
half = torch.empty(1, 1, 16, 64, device="cuda", dtype=torch.half)
print(found, takes, SDPBackend(torch._fused_sdp_choice(half, half, half)).name)
"""

PEERS = """
import ctypes, subprocess, pynvml, torch

can = [torch.cuda.can_device_access_peer(0, 1), torch.cuda.can_device_access_peer(0, 0)]
for name, prefix in (("libcudart.so", "cuda"), ("libcuda.so.1", "cu")):
    answer = ctypes.c_int(-1)
    assert getattr(ctypes.CDLL(name), f"{prefix}DeviceCanAccessPeer")(ctypes.byref(answer), 0, 1) == 0
    can.append(bool(answer.value))
runtime = ctypes.CDLL("libcudart.so")
codes = [runtime.cudaDeviceEnablePeerAccess(1, 0) for _ in range(2)]
pynvml.nvmlInit()
first, second = map(pynvml.nvmlDeviceGetHandleByIndex, range(2))
status = [pynvml.nvmlDeviceGetP2PStatus(first, second, kind) for kind in (0, 1, 2)]
done = subprocess.run(["nvidia-smi", "topo", "-p2p", "r"], check=True, capture_output=True, text=True)
x = torch.arange(3.0, device="cuda:0").to("cuda:1")  # through the host
print(can, codes, status, done.stdout.splitlines()[1].split(), x.tolist())
"""

PEERS_IN_CPP = """
from torch.utils.cpp_extension import load_inline

SOURCE = r'''
#include <torch/extension.h>
#include <ATen/cuda/CUDAContext.h>
std::vector<int64_t> ask() {
  int can = -1;
  cudaDeviceCanAccessPeer(&can, 0, 1);
  bool torchs = at::cuda::canDeviceAccessPeer(0, 1);
  int off = cudaDeviceDisablePeerAccess(1), on = cudaDeviceEnablePeerAccess(1, 0);
  int again = cudaDeviceEnablePeerAccess(1, 0);
  return {can, torchs, off, on, again, cudaDeviceEnablePeerAccess(0, 0)};
}
'''
module = load_inline("asking", "std::vector<int64_t> ask();", SOURCE, functions=["ask"], with_cuda=True)
print(module.ask())
"""

SHARED = """
import torch
from torch.utils.cpp_extension import load_inline

SOURCE = r'''
#include <torch/extension.h>
__global__ void fill(float* out) {
  extern __shared__ float shared[];
  shared[threadIdx.x] = threadIdx.x;
  __syncthreads();
  out[threadIdx.x] = shared[31 - threadIdx.x];
}
torch::Tensor fill_with(int64_t bytes) {
  auto out = torch::zeros({32}, torch::kCUDA);
  int asked = cudaFuncSetAttribute(fill, cudaFuncAttributeMaxDynamicSharedMemorySize, int(bytes));
  if (asked != cudaSuccess) return torch::empty({0});
  fill<<<1, 32, bytes>>>(out.data_ptr<float>());
  return out;
}
int64_t resident(int64_t threads, int64_t bytes) {
  int blocks = -1;
  cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, fill, int(threads), size_t(bytes));
  return blocks;
}
'''
declared = "torch::Tensor fill_with(int64_t); int64_t resident(int64_t, int64_t);"
module = load_inline("profiled", declared, SOURCE, functions=["fill_with", "resident"])
print(len(module.fill_with(200 << 10)), len(module.fill_with(228 << 10)))
print(module.resident(64, 0), module.resident(33, 0), module.resident(128, 54 << 10))
"""

TWO_PROCESSES = """
import torch, torch.multiprocessing

def name_of(queue, answers):
    queue.get()
    answers.put(torch.cuda.get_device_name(0))

if __name__ == "__main__":
    start = torch.multiprocessing.get_context("spawn")
    queue, answers = start.Queue(), start.Queue()
    process = start.Process(target=name_of, args=(queue, answers))
    process.start()
    tensor = torch.ones(2, device="cuda")
    queue.put(tensor)
    print(answers.get())
    process.join()
"""

ROCM = """
import torch

properties = torch.cuda.get_device_properties(0)
print(properties.name, properties.total_memory)
torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda")
assert torch.cuda.memory_reserved() > 128 << 20  # with hipBLAS's workspace
"""


def said(platform: Platform, program: str, profile: str, **environment: str) -> list[str]:
    done = platform.run(program, environment={"MORPH_DEVICE_PROFILE": profile, **environment})
    assert done.returncode == 0, describe(done)
    return done.stdout.splitlines()


def test_every_part_reports_the_card(platform: Platform) -> None:
    reported, in_child = said(platform, REPORTED, "h100")
    assert reported == "NVIDIA H100 80GB HBM3, 9.0, 81089 MiB"
    assert in_child == "NVIDIA H100 80GB HBM3"


def test_memory_ends_where_the_cards_does(platform: Platform) -> None:
    assert said(platform, TOO_MUCH, "t4") == ["True"]
    smaller = "import torch; print(torch.cuda.get_device_properties(0).total_memory)"
    assert said(platform, smaller, "t4", MORPH_DEVICE_MEMORY="1GiB") == [str(1 << 30)]


def test_the_kernels_of_attention_are_the_cards(platform: Platform) -> None:
    fused = ["FLASH_ATTENTION", "EFFICIENT_ATTENTION", "CUDNN_ATTENTION"]
    takes = [(False, False), (True, False), (False, False)]
    expected = [f"{name} {half} {bfloat}" for name, (half, bfloat) in zip(fused, takes, strict=True)]
    assert said(platform, BEFORE_80, "t4") == expected


@pytest.mark.long
@pytest.mark.parametrize(
    ("profile", "expected"), [("a100", "True"), ("t4", "True"), ("l4", "4096.0"), ("h100", "4096.0")]
)
def test_products_of_eight_bits_need_a_card_that_has_them(
    platform: Platform, profile: str, expected: str
) -> None:
    assert said(platform, FLOAT8, profile) == [expected]


@pytest.mark.long
@pytest.mark.parametrize(("profile", "expected"), [("l4", "4 True"), ("h100", "0 False")])
def test_nccl_reduces_eight_bits_where_the_card_does(platform: Platform, profile: str, expected: str) -> None:
    assert said(platform, EIGHT_BITS, profile) == [expected]


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("t4", "[1024, 16, 65536, 65536, 0, 65536, 65536] [False, False, False] EFFICIENT_ATTENTION"),
        ("h100", "[2048, 32, 233472, 232448, 1024, 65536, 65536] [True, True, True] CUDNN_ATTENTION"),
        pytest.param(
            "b200",
            "[2048, 32, 233472, 232448, 1024, 65536, 65536] [True, True, False] CUDNN_ATTENTION",
            marks=pytest.mark.long,
        ),
    ],
)
def test_limits_and_choices_are_the_cards(platform: Platform, profile: str, expected: str) -> None:
    assert said(platform, LIMITS, profile) == [expected]


def test_a_process_that_gets_a_tensor_has_the_card(platform: Platform, tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(TWO_PROCESSES)
    done = platform.run(program, environment={"MORPH_DEVICE_PROFILE": "b200"})
    assert done.stdout == "NVIDIA B200\n", describe(done)


@pytest.mark.long
@pytest.mark.parametrize(
    ("profile", "expected"), [("a100", "0 0|32 32 2"), ("h100", "32 0|32 32 4"), ("l4", "0 0|24 24 1")]
)
def test_a_block_has_the_cards_shared_memory(platform: Platform, profile: str, expected: str) -> None:
    assert said(platform, SHARED, profile) == expected.split("|")


@pytest.mark.parametrize(
    ("profile", "expected"),
    [
        ("rtx4090", "[False, False, False, False] [217, 217] [2, 2, 5] ['GPU0', 'X', 'GNS']"),
        ("l4", "[True, False, True, True] [0, 704] [0, 0, 5] ['GPU0', 'X', 'OK']"),
    ],
)
def test_cards_reach_each_other_as_nvidias_driver_lets_them(
    platform: Platform, profile: str, expected: str
) -> None:
    assert said(platform, PEERS, profile, MORPH_DEVICES="2") == [f"{expected} [0.0, 1.0, 2.0]"]


@pytest.mark.long
@pytest.mark.parametrize(
    ("profile", "expected"),
    [("rtx4090", "[0, 0, 705, 217, 217, 101]"), ("h100", "[1, 1, 705, 0, 704, 101]")],
)
def test_extensions_are_told_of_peers_too(platform: Platform, profile: str, expected: str) -> None:
    assert said(platform, PEERS_IN_CPP, profile, MORPH_DEVICES="2") == [expected]


@pytest.mark.platforms("simulated-rocm")
def test_amds_card_has_its_own_memory_where_it_is_asked_for(platform: Platform) -> None:
    assert said(platform, ROCM, "mi300x") == ["AMD Instinct MI300X 206141652992"]


@pytest.mark.parametrize(
    ("profile", "message"),
    [
        ("h10", "MORPH_DEVICE_PROFILE: there is no profile 'h10'; the profiles are a100, "),
        pytest.param(
            "mi300x",
            "the profile mi300x: the devices of cpu cannot be this card, those of rocm can",
            marks=pytest.mark.long,
        ),
    ],
)
def test_a_card_that_cannot_be_meant_is_one_line(platform: Platform, profile: str, message: str) -> None:
    done = platform.run("import torch", check=False, environment={"MORPH_DEVICE_PROFILE": profile})
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"morph: {message}")


def test_the_option_comes_before_the_variable(platform: Platform) -> None:
    program = "import torch; print(torch.cuda.get_device_name())"
    words = [*platform.command(morph=True), "--device-profile", "l4", "-c", program]
    done = complete(words, env={**platform.environment, "MORPH_DEVICE_PROFILE": "t4"})
    assert done.stdout == "NVIDIA L4\n", describe(done)


# CUDA C++ Programming Guide, "Technical Specifications per Compute Capability": of a multiprocessor threads,
# blocks, registers and KiB of shared memory, and KiB that a block may have; "Arithmetic Instructions": cores.
SPECIFICATIONS = {
    (7, 0): (2048, 32, 65536, 96, 96, 64),
    (7, 5): (1024, 16, 65536, 64, 64, 64),
    (8, 0): (2048, 32, 65536, 164, 163, 64),
    (8, 9): (1536, 24, 65536, 100, 99, 128),
    (9, 0): (2048, 32, 65536, 228, 227, 128),
    (10, 0): (2048, 32, 65536, 228, 227, 128),
}
# NVIDIA's data sheets: GB/s of the memory, MHz of the highest clock where they have it, watts, GB/s of NVLink
SHEETS = {
    "v100": (900, 1530, 300, 300),
    "t4": (320, 1590, 70, 0),
    "a100": (2039, 1410, 400, 600),
    "l4": (300, 2040, 72, 0),
    "rtx4090": (1008, 2520, 450, 0),
    "h100": (3350, None, 700, 900),
    "h200": (4800, None, 700, 900),
    "b200": (8000, None, 1000, 1800),
}


@pytest.mark.parametrize(
    "name", [name for name in cards.names() if cards.load(name, "here").backend == "cpu"]
)
def test_a_profile_agrees_with_public_tables(name: str) -> None:
    card = cards.load(name, "the test")
    of = DeviceProperties(**card.properties, uuid=uuid.UUID(int=0), pci_bus_id=0)
    shared = of.shared_memory_per_multiprocessor >> 10, of.shared_memory_per_block_optin >> 10
    threads, blocks = of.max_threads_per_multi_processor, of._max_blocks_per_multi_processor
    cores = card.board["cores"] // of.multi_processor_count
    found = threads, blocks, of.regs_per_multiprocessor, *shared, cores
    assert found == SPECIFICATIONS[of.major, of.minor]
    bandwidth, clock, power, links = SHEETS[name]
    assert of.memory_clock_rate * 2 * of.memory_bus_width / 8e6 == pytest.approx(bandwidth, rel=0.05)
    assert of.clock_rate // 1000 == (clock or of.clock_rate // 1000)
    assert card.board["power_limit"] == power
    of_links = (
        card.nvlink.get("count", 0) * card.nvlink.get("speed", 0) * 2 / 1000
    )  # with what its frames take
    assert of_links == pytest.approx(links, rel=0.07)


@pytest.mark.parametrize("name", cards.names())
def test_a_profile_has_every_figure(name: str) -> None:
    """What a profile leaves out would be a default: of compute capability 8.0, or of the host's processor."""
    card = cards.load(name, "the test")
    fields = {each.name for each in dataclasses.fields(DeviceProperties)}
    assert card.properties.keys() <= fields
    assert REQUIRED <= card.properties.keys()
    shared = card.properties["shared_memory_per_block_optin"]
    assert shared <= card.properties["shared_memory_per_multiprocessor"]
