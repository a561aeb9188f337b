"""libcudart's and libnccl's work between two processes."""

import pytest

from tests import origin
from tests.platforms import REPOSITORY

PROGRAM = """
import ctypes, sys
from ctypes import byref, c_int, c_size_t, c_void_p

import torch
import torch.multiprocessing as multiprocessing


class Handle(ctypes.Structure):
    _fields_ = [("bytes", ctypes.c_byte * 128)]  # NCCL's; 64 are CUDA's, some programs declare more


def run(rank, pipe):
    torch.cuda.set_device(rank)
    runtime, nccl = ctypes.CDLL("libcudart.so.12"), ctypes.CDLL("libnccl.so.2")
    share(rank, pipe, runtime)
    collect(rank, pipe, nccl)


def share(rank, pipe, runtime):
    own, tensor = c_void_p(), torch.full((256,), float(rank + 5), device="cuda")
    assert runtime.cudaMalloc(byref(own), c_size_t(1024)) == 0
    assert runtime.cudaMemset(own, rank + 1, c_size_t(1024)) == 0
    handles = [Handle(), Handle()]
    assert runtime.cudaIpcGetMemHandle(byref(handles[0]), own) == 0
    assert runtime.cudaIpcGetMemHandle(byref(handles[1]), c_void_p(tensor.data_ptr())) == 0
    assert runtime.cudaIpcOpenMemHandle(byref(c_void_p()), handles[0], 1) == 201  # its own
    pipe.send([bytes(each) for each in handles])
    theirs = [Handle.from_buffer_copy(each) for each in pipe.recv()]
    other, again = c_void_p(), c_void_p()
    assert runtime.cudaIpcOpenMemHandle(byref(other), theirs[0], 1) == 0
    assert runtime.cudaIpcOpenMemHandle(byref(again), theirs[0], 1) == 0
    assert other.value == again.value
    host = (ctypes.c_ubyte * 1024)()
    assert runtime.cudaMemcpy(host, other, c_size_t(1024), 2) == 0
    assert set(host) == {2 - rank}
    assert runtime.cudaMemcpy(host, other, c_size_t(1025), 2) == 1
    segment = c_void_p()  # of torch's: the tensor lies somewhere in it
    assert runtime.cudaIpcOpenMemHandle(byref(segment), theirs[1], 1) == 0
    start = ctypes.cast(segment, ctypes.POINTER(ctypes.c_float))
    assert 6.0 - rank in start[:256]
    assert runtime.cudaMemset(other, 9, c_size_t(4)) == 0
    pipe.send("written"), pipe.recv()
    assert runtime.cudaMemcpy(host, own, c_size_t(8), 2) == 0
    assert list(host[:8]) == [9] * 4 + [rank + 1] * 4
    for _ in range(2):
        assert runtime.cudaIpcCloseMemHandle(other) == 0
    assert runtime.cudaIpcCloseMemHandle(other) == 1
    pipe.send("closed"), pipe.recv()
    assert runtime.cudaFree(own) == 0


def collect(rank, pipe, nccl):
    identity, handle, count = Handle(), c_void_p(), c_int()
    if rank == 0:
        assert nccl.ncclGetUniqueId(byref(identity)) == 0
        pipe.send(bytes(identity))
    else:
        identity = Handle.from_buffer_copy(pipe.recv())
    assert nccl.ncclCommInitRank(byref(handle), 2, identity, rank) == 0
    assert nccl.ncclCommCount(handle, byref(count)) == 0
    assert count.value == 2
    x = torch.arange(1000.0, device="cuda") * (rank + 1)
    address, size = c_void_p(x.data_ptr()), c_size_t(1000)
    assert nccl.ncclAllReduce(address, address, size, 7, 0, handle, None) == 0
    assert torch.equal(x.cpu(), torch.arange(1000.0) * 3)
    if rank == 0:
        assert nccl.ncclSend(address, size, 7, 1, handle, None) == 0
        pipe.send("sent")  # a program may wait for the other rank before that receives
    else:
        pipe.recv()
        x.zero_()
        assert nccl.ncclRecv(address, size, 7, 0, handle, None) == 0
        assert torch.equal(x.cpu(), torch.arange(1000.0) * 3)
    replay(rank, nccl, handle)
    part = c_void_p()
    assert nccl.ncclCommSplit(handle, rank, 0, byref(part), None) == 0
    assert nccl.ncclCommCount(part, byref(count)) == 0
    assert count.value == 1
    assert nccl.ncclCommDestroy(part) == nccl.ncclCommDestroy(handle) == 0
    print(f"done {rank}\\n", end="", flush=True)  # in one piece


def replay(rank, nccl, handle):
    graph, x = torch.cuda.CUDAGraph(), torch.ones(4, device="cuda")
    with torch.cuda.graph(graph):
        y = torch.empty_like(x)
        source, target = c_void_p(x.data_ptr()), c_void_p(y.data_ptr())
        assert nccl.ncclAllReduce(source, target, c_size_t(4), 7, 0, handle, None) == 0
        z = y + 1
    for value in (rank + 1.0, 5.0):
        x.fill_(value)
        graph.replay()
        assert z.tolist() == [4 if value < 5 else 11] * 4


if __name__ == "__main__":
    multiprocessing.set_start_method("spawn")
    ends = multiprocessing.Pipe()
    processes = [multiprocessing.Process(target=run, args=(rank, ends[rank])) for rank in (0, 1)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    sys.exit(any(process.exitcode for process in processes))
"""


@pytest.mark.long
def test_memory_messages_and_collectives_between_processes(platform, tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = platform.run(program, cwd=REPOSITORY)
    assert sorted(done.stdout.split()) == ["0", "1", "done", "done"]


SIMULATED = """
import ctypes, torch
from ctypes import byref, c_size_t, c_void_p
library, pointer = ctypes.CDLL("libcudart.so.12"), c_void_p()
assert library.cudaMalloc(byref(pointer), c_size_t(64)) == 0
assert library.cudaFree(pointer) == 0
print(library.cudaIpcGetMemHandle(None, None))
"""


@pytest.mark.platforms("simulated-npu")
def test_a_rehearsal_has_what_the_vendor_has(platform):
    assert (
        origin.run(platform, SIMULATED, morph=True).stdout.splitlines()[-1] == "801"
    )  # Ascend's runtime has no such function


UNDONE = """
import ctypes, ctypes.util
import morph
before = ctypes._dlopen, ctypes.CDLL, ctypes.CDLL.__getitem__, ctypes.util.find_library
with morph.activated("cpu"):
    import torch
    torch.zeros(1, device="cuda")
    library = ctypes.CDLL("libcudart.so")
    assert library.cudaDeviceSynchronize() == 0
    assert ctypes._dlopen is not before[0]
assert before == (ctypes._dlopen, ctypes.CDLL, ctypes.CDLL.__getitem__, ctypes.util.find_library)
library.cudaGetErrorString.restype = ctypes.c_char_p
print(library.cudaGetErrorString(1).decode())
try:
    ctypes.CDLL("libnvidia-ml.so.1")  # the driver's: a torch built for CUDA brings all others
except OSError:
    print("undone")
"""


def test_deactivation_restores_ctypes(platform):
    assert origin.run(platform, UNDONE).stdout == "invalid argument\nundone\n"


BEFORE = """
import ctypes, torch
driver, value = ctypes.CDLL("libcuda.so.1"), ctypes.c_int()
def calls():
    return [driver.cuDeviceGetCount(ctypes.byref(value)), driver.cuDeviceGet(ctypes.byref(value), 0)]
print(calls(), driver.cuDriverGetVersion(ctypes.byref(value)))
assert {initialize} == 0
print(calls())
"""


@pytest.mark.parametrize("initialize", ["driver.cuInit(0)", "int(torch.zeros(1, device='cuda'))"])
def test_the_driver_asks_to_be_initialized(platform, initialize):
    done = platform.run(BEFORE.format(initialize=initialize))
    assert done.stdout.splitlines()[-2:] == ["[3, 3] 0", "[0, 0]"]
