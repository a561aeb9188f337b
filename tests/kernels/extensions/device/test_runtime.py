"""CUDA's runtime functions, and errors in kernels."""

import ctypes
import gc

import torch

from tests.kernels.extensions.device.corpus import call, library


def test_memory():
    values, out = torch.arange(50, dtype=torch.int32), torch.zeros(51, dtype=torch.int32)
    gc.collect()  # what earlier tests of this process left in cycles
    before = torch.cuda.memory_allocated()
    done = library("runtime").round_trip(
        ctypes.c_void_p(values.data_ptr()), ctypes.c_void_p(out.data_ptr()), 50
    )
    assert done == 1
    assert torch.equal(out[:50], values)
    assert int(out[50]) == -1
    assert torch.cuda.memory_allocated() == before


def test_managed_memory_is_advised_by_the_names_of_cuda_12_and_13():
    assert library("runtime").advise() == 0


def test_streams_and_events():
    timed = library("runtime").timed
    timed.restype = ctypes.c_float
    out = torch.zeros(256, device="cuda", dtype=torch.int32)
    assert timed(ctypes.c_void_p(out.data_ptr())) >= 0
    assert set(out.tolist()) == {7}


def test_errors_are_remembered():
    name = ctypes.create_string_buffer(64)
    assert library("runtime").errors(name) == 0
    assert name.value == b"cudaErrorInvalidDevice"


def test_properties_are_torchs():
    name, values = ctypes.create_string_buffer(256), torch.zeros(3, dtype=torch.int32)
    library("runtime").properties(name, ctypes.c_void_p(values.data_ptr()))
    expected = torch.cuda.get_device_properties(0)
    assert name.value.decode() == expected.name
    assert values.tolist() == [expected.multi_processor_count, expected.major * 10 + expected.minor, 1024]


def test_a_launch_by_a_kernels_address():
    out = torch.zeros(8, device="cuda", dtype=torch.int32)
    launch = library("runtime").launch_by_address
    address = ctypes.c_void_p(out.data_ptr())
    assert [launch(address, 5, 0), launch(address, 4, 1)] == [0, 0]
    assert out.tolist() == [13] * 8
    assert launch(address, 5, 2) == 98  # cudaErrorInvalidDeviceFunction


def test_ranges_for_profilers_run_where_none_listens():
    a = torch.zeros(8, dtype=torch.int32).cuda()
    assert call("nvtx", "named_work", a, 8) == -2  # NVTX_NO_PUSH_POP_TRACKING
    assert a.tolist() == [1] * 8


def test_a_box_is_copied_between_spaces():
    given = torch.arange(1000, 1000 + 6 * 5 * 3, dtype=torch.int32).view(3, 5, 6)
    found = torch.zeros(3, 5, 6, dtype=torch.int32)
    assert call("runtime", "copy_box", given, found) == 0
    expected = torch.full((3, 5, 6), 0x01010101, dtype=torch.int32)
    expected[0, :2] = 0x02020202
    expected[1:, :3, 2:] = given[:2, 2:, 1:5]
    assert torch.equal(found, expected)
