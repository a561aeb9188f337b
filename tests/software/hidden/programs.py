"""Pieces of programs that use device memory from the host, ``wrong_...``, beside right twins, ``right_...``.

On a GPU the wrong ones end the process with a segmentation fault.
"""

import ctypes
import os
import tempfile
import threading

import numpy as np
import torch

SIZE = 1000
C = ctypes.CDLL(None)
CUDART = ctypes.CDLL(f"libcudart.so.{(torch.version.cuda or '13').partition('.')[0]}")
TO_HOST, TO_DEVICE = 2, 1


def numbers(device="cuda", **options):
    return torch.arange(SIZE, dtype=torch.float32, device=device, **options)


def floats(address, count=SIZE):
    return (ctypes.c_float * count).from_address(address)


def wrong_read_of_an_element():
    x = numbers()
    return ctypes.c_float.from_address(x.data_ptr() + 40).value


def right_read_of_an_element():
    x = numbers()
    return x[10].item()


def wrong_write_of_an_element():
    x = numbers()
    ctypes.c_float.from_address(x.data_ptr()).value = 1


def right_write_of_an_element():
    x = numbers()
    x[0] = 1
    assert x.tolist() == [1, *range(1, SIZE)]


def wrong_array_of_numpy():
    x = numbers()
    return np.ctypeslib.as_array(floats(x.data_ptr())).sum()


def right_array_of_numpy():
    x = numbers("cpu", pin_memory=True)
    numbers().add_(1).max()
    x.copy_(numbers() * 2)
    assert np.ctypeslib.as_array(floats(x.data_ptr())).sum() == SIZE * (SIZE - 1)


def wrong_tensor_of_the_host():
    x = numbers()
    return torch.frombuffer(floats(x.data_ptr()), dtype=torch.float32).sum()


def right_tensor_of_the_host():
    x = numbers().cpu()
    assert torch.frombuffer(floats(x.data_ptr()), dtype=torch.float32).sum() == SIZE * (SIZE - 1) / 2


def wrong_bytes():
    x = numbers()
    return bytes(floats(x.data_ptr()))


def right_bytes():
    assert numbers().cpu().numpy().tobytes() == numbers("cpu").numpy().tobytes()


def wrong_copy_by_the_c_library():
    x, host = numbers(), numbers("cpu")
    C.memcpy(ctypes.c_void_p(host.data_ptr()), ctypes.c_void_p(x.data_ptr()), ctypes.c_size_t(4 * SIZE))


def right_copy_by_the_c_library():
    x, host = numbers() + 1, numbers("cpu")
    addresses = ctypes.c_void_p(host.data_ptr()), ctypes.c_void_p(x.data_ptr())
    assert CUDART.cudaMemcpy(*addresses, ctypes.c_size_t(4 * SIZE), TO_HOST) == 0
    assert torch.equal(host, numbers("cpu") + 1)
    assert CUDART.cudaMemset(addresses[1], 0, ctypes.c_size_t(4 * SIZE)) == 0
    assert x.sum() == 0


def wrong_read_by_another_thread():
    x = numbers()
    thread = threading.Thread(target=bytes, args=[floats(x.data_ptr())])
    thread.start()
    thread.join()


def right_read_by_another_thread():
    x = numbers()
    thread = threading.Thread(target=x.tolist)
    thread.start()
    thread.join()


def wrong_read_of_freed_memory():
    address = numbers().data_ptr()
    return floats(address)[0]


def right_read_of_freed_memory():
    numbers()
    return numbers()[0].item()


def wrong_view_of_a_part():
    x = torch.zeros(100, 100, device="cuda")[3:, 7]
    return floats(x.data_ptr(), 1)[0]


def right_view_of_a_part():
    x = torch.zeros(100, 100, device="cuda")[3:, 7]
    return x.contiguous().cpu().numpy()[0]


def right_memory_that_both_use():
    managed = ctypes.c_void_p()
    assert CUDART.cudaMallocManaged(ctypes.byref(managed), ctypes.c_size_t(4 * SIZE), 1) == 0
    floats(managed.value)[:] = range(SIZE)
    x = torch.empty(SIZE, device="cuda")
    assert CUDART.cudaMemcpy(ctypes.c_void_p(x.data_ptr()), managed, ctypes.c_size_t(4 * SIZE), 3) == 0
    assert torch.equal(x, numbers())
    assert CUDART.cudaFree(managed) == 0


def right_work_of_the_device():
    """Results that kernels made, resized, sparse, copied, saved and large tensors."""
    x = numbers()
    assert torch.nonzero(x > 10).shape == (SIZE - 11, 1)
    assert x.clone().resize_(2 * SIZE)[:SIZE].equal(x)
    assert x.to_sparse().to_dense().equal(x)
    assert x.sort(descending=True).values[0] == SIZE - 1
    assert torch.stack([x, x]).unique().numel() == SIZE
    large = torch.ones(3000, 1000, device="cuda")
    assert (large @ large.T)[5, 7] == 1000
    del large
    torch.cuda.empty_cache()
    lazy = torch._lazy_clone(x)
    lazy += 1
    assert lazy.sum() - x.sum() == SIZE
    with tempfile.TemporaryDirectory() as folder:
        torch.save(x, os.path.join(folder, "x"))
        assert torch.load(os.path.join(folder, "x")).equal(x)


def right_graph():
    x, graph = numbers(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y = x * 2
    x += 1
    graph.replay()
    assert torch.equal(y, (numbers() + 1) * 2)


def right_compiled_function():
    function = torch.compile(lambda x: (x.sin() + 1).cumsum(0))
    assert torch.allclose(function(numbers()), (numbers().sin() + 1).cumsum(0))
