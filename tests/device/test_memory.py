"""Memory is counted per device as by CUDA's caching allocator, is used again, and can run out."""

import gc
import pickle

import psutil
import pytest
import torch

from tests.platforms import EVERYWHERE, Platform
from tests.worker import Worker

pytestmark = pytest.mark.platforms(*EVERYWHERE)
MIB = 1 << 20
TOO_MUCH = 1 << 42
SIZES = (4, 256), (256, 8), (8,)


@pytest.fixture(scope="module", autouse=True)
def nothing_is_held(worker: Worker) -> None:
    """Restarts the worker, so that no other test has allocated memory in it."""
    worker.stop()


def _fresh() -> tuple[int, int]:
    torch.cuda.empty_cache()
    torch.cuda.reset_peak_memory_stats()
    return torch.cuda.memory_allocated(), torch.cuda.memory_reserved()


@pytest.mark.platforms("npu", "simulated-npu", "simulated-xpu")
@pytest.mark.parametrize(
    ("elements", "allocated", "reserved"),
    [
        (10, 512, 2 * MIB),  # small blocks share segments of 2 MiB
        (1000, 4096, 2 * MIB),
        (1_000_000, 4_000_256, 20 * MIB),  # larger ones share segments of 20 MiB
        (10_000_100, 40_000_512, 40 * MIB),  # and the largest have a segment of their own
    ],
)
def test_blocks_and_segments_have_the_allocators_sizes(elements: int, allocated: int, reserved: int) -> None:
    used, held = _fresh()
    assert held == 0
    tensor = torch.empty(elements, device="cuda")
    assert torch.cuda.memory_allocated() - used == allocated
    assert torch.cuda.memory_reserved() == reserved
    del tensor
    assert torch.cuda.memory_allocated() == used
    assert torch.cuda.memory_reserved() == reserved
    torch.cuda.empty_cache()
    assert torch.cuda.memory_reserved() == 0


def test_peaks_and_totals() -> None:
    used, _ = _fresh()
    before = torch.cuda.memory_stats()
    for _ in range(3):
        torch.empty(MIB + 1, device="cuda")
    assert 4 * MIB < torch.cuda.max_memory_allocated() - used <= 4 * MIB + 512
    assert torch.cuda.max_memory_reserved() >= torch.cuda.max_memory_allocated()
    after = torch.cuda.memory_stats()
    for which in ("allocated", "freed"):
        key = f"allocated_bytes.all.{which}"
        assert 3 * 4 * MIB < after[key] - before[key] <= 3 * (4 * MIB + 512)
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated()
    torch.cuda.reset_accumulated_memory_stats()
    assert torch.cuda.memory_stats()["allocated_bytes.all.freed"] == 0


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_a_kernels_own_memory_is_in_no_peak(dtype: torch.dtype) -> None:
    """The CPU's copies of the weights in another layout, and what each of its threads takes."""
    image = torch.randn(4, 2, 32, 32, device="cuda", dtype=dtype, requires_grad=True)
    weight = torch.randn(3, 2, 3, 3, device="cuda", dtype=dtype)
    rows, weights, bias = (torch.randn(*size, device="cuda", dtype=dtype) for size in SIZES)
    _fresh()
    result = torch.nn.functional.conv2d(image, weight, padding=1)
    product = torch.addmm(bias, rows, weights)
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated()
    gradient = torch.ones_like(result)
    result.backward(gradient)
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated()
    peak = torch.cuda.max_memory_allocated()
    del result, product, gradient
    assert torch.cuda.max_memory_allocated() == peak


@pytest.mark.platforms("cpu")
def test_what_the_threads_of_attention_take_is_in_no_peak() -> None:
    query, key, value = (torch.randn(4, 2, 256, 8, device="cuda", dtype=torch.bfloat16) for _ in range(3))
    _fresh()
    with torch.nn.attention.sdpa_kernel(torch.nn.attention.SDPBackend.FLASH_ATTENTION):
        result = torch.nn.functional.scaled_dot_product_attention(query, key, value)
    taken = torch.cuda.max_memory_allocated() - torch.cuda.memory_allocated()
    assert taken <= result.nbytes + 4096  # its copy, and numbers


def test_devices_are_counted_apart() -> None:
    before = [torch.cuda.memory_allocated(index) for index in (0, 1)]
    tensor = torch.empty(MIB + 1, device="cuda:1")
    assert torch.cuda.memory_allocated(0) == before[0]
    assert 4 * MIB < torch.cuda.memory_allocated("cuda:1") - before[1] <= 4 * MIB + 512
    assert tensor.untyped_storage().device.index == 1


def test_free_and_total_memory() -> None:
    _fresh()
    free, total = torch.cuda.mem_get_info()
    assert total == torch.cuda.get_device_properties(0).total_memory
    tensor = torch.empty(100 * MIB, dtype=torch.uint8, device="cuda")
    assert 90 * MIB < free - torch.cuda.mem_get_info()[0] < 130 * MIB
    assert tensor.numel() == 100 * MIB


def test_memory_that_runs_out_is_cudas_error() -> None:
    with pytest.raises(torch.cuda.OutOfMemoryError, match=r"^CUDA out of memory\. Tried to") as caught:
        torch.empty(TOO_MUCH, device="cuda")
    assert caught.value.args[0] == str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    x = torch.zeros(2, device="cuda")
    with pytest.raises(RuntimeError, match="CUDA out of memory"):
        x[:1].expand(TOO_MUCH).clone()
    assert x.sum().item() == 0


@pytest.mark.platforms("cpu")
def test_what_ran_out_is_counted() -> None:
    before = torch.cuda.memory_stats()["num_ooms"]
    with pytest.raises(torch.cuda.OutOfMemoryError):
        torch.empty(TOO_MUCH, device="cuda")
    assert torch.cuda.memory_stats()["num_ooms"] == before + 1


@pytest.mark.platforms("npu", "simulated-mlu")
def test_the_vendors_own_words_stay() -> None:
    with pytest.raises(torch.OutOfMemoryError, match=r"\((NPU|MLU) out of memory\)"):
        torch.zeros(TOO_MUCH, device="cuda")


def test_other_texts_are_left_alone() -> None:
    assert str(torch.OutOfMemoryError("the host has NPU out of memory")) == "the host has NPU out of memory"
    assert torch.OutOfMemoryError("one", 2).args == ("one", 2)


def test_a_fraction_of_the_memory_is_a_limit() -> None:
    _fresh()
    torch.cuda.set_per_process_memory_fraction(64e6 / torch.cuda.mem_get_info()[1])
    try:
        with pytest.raises(torch.cuda.OutOfMemoryError):
            torch.empty(1 << 28, device="cuda")
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert torch.empty(1 << 28, device="cuda").nbytes == 1 << 30


@pytest.mark.platforms("cpu")
@pytest.mark.parametrize(("fraction", "error"), [(1, TypeError), (1.5, ValueError)])
def test_a_fraction_that_is_none_is_refused(fraction: float, error: type[Exception]) -> None:
    with pytest.raises(error, match="Invalid"):
        torch.cuda.set_per_process_memory_fraction(fraction)


def test_memory_is_used_again() -> None:
    _fresh()
    first = torch.empty(3 * MIB, device="cuda")
    address = first.data_ptr()
    del first
    assert torch.empty(3 * MIB, device="cuda").data_ptr() == address


@pytest.mark.platforms("cpu")
def test_emptying_the_cache_gives_memory_back() -> None:
    tensors = [torch.ones(8192, device="cuda") for _ in range(2000)]
    wall = torch.ones(8192, device="cuda")  # keeps the heap from shrinking by itself
    del tensors
    before = psutil.Process().memory_info().rss
    torch.cuda.empty_cache()
    assert wall.sum() == 8192
    assert before - psutil.Process().memory_info().rss > 16 * MIB


@pytest.mark.platforms("cpu", "simulated-npu")
@pytest.mark.parametrize("held", [3000, 50_000, 40 * MIB])
def test_reports_for_people(held: int) -> None:
    tensor = torch.empty(held, dtype=torch.uint8, device="cuda")
    lines = torch.cuda.memory_summary().splitlines()
    assert len({len(line) for line in lines}) == 1
    assert "PyTorch" in lines[1]
    [row] = [line for line in lines if "Allocated memory" in line]
    figure, unit = row.split("|")[2].split()
    told = int(figure) * {"B": 1, "KiB": 1 << 10, "MiB": MIB}[unit]
    assert tensor.nbytes <= torch.cuda.memory_allocated() == pytest.approx(told, rel=0.1)


def test_reports_for_tools() -> None:
    tensor = torch.empty(1000, device="cuda")
    segments = [each for each in torch.cuda.memory_snapshot() if each["device"] == 0]
    blocks = [(block["address"], block["state"]) for each in segments for block in each["blocks"]]
    assert (tensor.data_ptr(), "active_allocated") in blocks
    assert sum(each["allocated_size"] for each in segments) == torch.cuda.memory_allocated()


def test_accelerator_figures_are_the_same() -> None:
    gc.collect()  # what earlier tests left behind might be freed between two questions
    tensor = torch.zeros(MIB, device="cuda")
    assert tensor.nbytes <= torch.accelerator.memory_allocated() == torch.cuda.memory_allocated()
    assert torch.accelerator.memory_reserved() == torch.cuda.memory_reserved()
    assert torch.accelerator.max_memory_allocated() == torch.cuda.max_memory_allocated()


@pytest.mark.platforms("cpu")
def test_old_names_warn_as_on_cuda() -> None:
    with pytest.warns(FutureWarning, match=r"has been renamed to `torch\.\w+\.memory_reserved`"):
        assert torch.cuda.memory_cached() > 0
    with pytest.warns(FutureWarning, match="resets /all/ peak memory stats"):
        torch.cuda.reset_max_memory_allocated()


def test_pinned_memory_knows_itself() -> None:
    pinned = torch.rand(MIB).pin_memory()
    assert pinned.is_pinned()
    assert pinned[5:].is_pinned()
    assert torch.zeros(3, pin_memory=True).is_pinned()
    assert not torch.empty(3).is_pinned()
    assert torch.equal(pinned.to("cuda", non_blocking=True).cpu(), pinned)


def test_storages_grow_and_shrink() -> None:
    tensor = torch.arange(4.0, device="cuda")
    tensor.untyped_storage().resize_(32)
    tensor.set_(tensor.untyped_storage(), 0, (2, 4))
    assert tensor[0].tolist() == [0, 1, 2, 3]
    tensor.untyped_storage().resize_(0)
    assert tensor.untyped_storage().nbytes() == 0


@pytest.mark.platforms("cpu")
def test_the_python_seam_knows_the_process(platform: Platform) -> None:
    program = """
import torch
torch.cuda.reset_peak_memory_stats()
x = torch.ones(1 << 26, dtype=torch.uint8, device="cuda")
held = torch.cuda.memory_allocated()
del x
torch.cuda.empty_cache()
now = torch.cuda.memory_allocated()
print(held - now > 1 << 25, torch.cuda.max_memory_allocated() - now > 1 << 25)
"""
    done = platform.run(program, environment={"MORPH_SEAM": "python"})
    assert done.stdout.split() == ["True", "True"]
