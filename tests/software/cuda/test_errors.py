"""Errors have CUDA's type and text."""

import pytest
import torch

ORDINAL = "CUDA error: invalid device ordinal\nGPU device may be out of range"


def test_a_device_that_is_not_there() -> None:
    for use in (
        lambda: torch.zeros(1, device="cuda:5"),
        lambda: torch.zeros(1).to("cuda:5"),
        lambda: torch.cuda.set_device(7),
        lambda: torch.cuda.synchronize(7),
        lambda: torch.cuda.set_device(300),
    ):
        with pytest.raises(torch.AcceleratorError, match=ORDINAL) as caught:
            use()
        assert caught.value.error_code == 101


def test_more_memory_than_there_is() -> None:
    with pytest.raises(
        torch.OutOfMemoryError,
        match=r"CUDA out of memory. Tried to allocate 800000000.00 GiB. "
        r"GPU 0 has a total capacity of .* GiB of which",
    ):
        torch.empty((1 << 30) * 800000000, dtype=torch.int8, device="cuda")
    with pytest.raises(torch.OutOfMemoryError, match="Tried to allocate more than 1EB memory"):
        torch.empty((1 << 30) * 8000000000, dtype=torch.int8, device="cuda")
    assert torch.ones(2, device="cuda").sum().item() == 2


def test_more_memory_than_the_process_may_have() -> None:
    torch.cuda.set_per_process_memory_fraction(0.001)
    total = torch.cuda.get_device_properties(0).total_memory
    try:
        with pytest.raises(torch.OutOfMemoryError, match="allowed; Of the allocated memory"):
            torch.empty(total // 500, dtype=torch.int8, device="cuda")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)


def test_an_observer_is_told_of_memory_that_was_not_there() -> None:
    seen: list[tuple[int, ...]] = []
    torch._C._cuda_attach_out_of_memory_observer(lambda *figures: seen.append(figures))
    with pytest.raises(torch.OutOfMemoryError):
        torch.empty(1 << 50, dtype=torch.int8, device="cuda")
    [(device, wanted, total, free)] = seen
    assert (device, wanted) == (0, 1 << 50)
    assert 0 < free <= total


@pytest.mark.parametrize(
    ("code", "words"),
    [
        (11, "unrecognized error code"),
        (205, "mapping of buffer object failed"),
        (300, "device kernel image is invalid"),
        (304, "OS call failed or operation not supported on this OS"),
        (401, "the operation cannot be performed in the present state"),
        (715, "an illegal instruction was encountered"),
        (717, "operation not supported on global/shared address space"),
        (802, "system not yet initialized"),
        (903, "capture was not ended in the same stream as it began"),
        (910, "the graph update was not performed because it included changes which violated constraints"),
    ],
)
def test_errors_have_the_runtimes_words(code: int, words: str) -> None:
    assert str(torch.cuda.CudaError(code)).startswith(words)


def test_statuses_are_no_numbers() -> None:
    runtime = torch.cuda.cudart()
    assert list(runtime.cudaError.__members__) == ["success"]
    assert repr(runtime.cudaError(2)) == "<cudaError.???: 2>"
    for wrong in (-1, "x", None):
        with pytest.raises(TypeError, match="incompatible constructor arguments"):
            torch.cuda.check_error(wrong)
    with pytest.raises(TypeError, match="incompatible function arguments"):
        runtime.cudaGetErrorString(2)


def test_ranges_are_followed_by_no_tool() -> None:
    nvtx = torch.cuda.nvtx
    assert [nvtx.range_push("a"), nvtx.range_pop(), nvtx.range_pop()] == [-2] * 3
    for call in (lambda: nvtx.range_push(3), lambda: nvtx.range_end("x"), lambda: nvtx.mark(None)):
        with pytest.raises(TypeError, match="incompatible function arguments"):
            call()


def test_waits_are_watched_by_a_number() -> None:
    with (
        pytest.raises(RuntimeError, match="^invalid argument to set_sync_debug_mode"),
        pytest.warns(UserWarning, match="is a prototype feature"),
    ):
        torch.cuda.set_sync_debug_mode(None)


def test_properties_are_read_once() -> None:
    assert torch.cuda.get_device_properties(0) is torch.cuda.get_device_properties("cuda")


def test_codes_of_the_runtime_have_its_words() -> None:
    with pytest.raises(torch.cuda.CudaError, match=r"out of memory \(2\)"):
        torch.cuda.check_error(2)
    success = torch.cuda.cudart().cudaError(0)
    assert torch.cuda.cudart().cudaGetErrorString(success) == "no error"
    assert (success.name, success.value, isinstance(success, int)) == ("success", 0, False)
    assert success == 0
    assert hash(success) == hash(0)


def test_a_generators_offset_is_a_multiple_of_four() -> None:
    generator = torch.Generator("cuda")
    with pytest.raises(RuntimeError, match="^offset must be a multiple of 4"):
        generator.set_offset(6)
    generator.set_offset(8)
    assert generator.get_offset() == 8


def test_a_stream_needs_a_place() -> None:
    assert torch.cuda.cudart().cudaStreamCreate(0).value == 1


def test_host_memory_is_registered_once() -> None:
    runtime, tensor = torch.cuda.cudart(), torch.ones(20)
    size = tensor.numel() * tensor.element_size()
    assert not tensor.is_pinned()
    assert int(runtime.cudaHostRegister(tensor.data_ptr(), size, 0)) == 0
    assert tensor.is_pinned()
    assert int(runtime.cudaHostRegister(tensor.data_ptr(), size, 0)) == 712
    assert int(runtime.cudaHostUnregister(tensor.data_ptr())) == 0
    assert int(runtime.cudaHostUnregister(tensor.data_ptr())) == 713
    assert not tensor.is_pinned()


def test_what_software_cannot_do_is_refused_by_name() -> None:
    for name in ("_cuda_tunableop_enable", "_cuda_customAllocator"):
        with pytest.raises(NotImplementedError, match=name):
            getattr(torch._C, name)(True)
    with pytest.raises(NotImplementedError, match="_CUDAPluggableAllocator"):
        torch._C._CUDAPluggableAllocator()
    assert not torch.cuda.tunable.is_enabled()


def test_ones_own_storage_is_not_opened_again() -> None:
    shared = torch.ones(3, device="cuda").untyped_storage()._share_cuda_()
    with pytest.raises(torch.AcceleratorError, match="CUDA error: invalid device context"):
        torch.UntypedStorage._new_shared_cuda(*shared)
