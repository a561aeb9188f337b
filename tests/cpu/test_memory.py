"""Memory statistics of the process."""

from __future__ import annotations

import psutil
import pytest
import torch

from tests.platforms import Platform

pytestmark = pytest.mark.platforms("cpu")

MEBIBYTE = 1 << 20


def test_memory_moves_with_every_tensor() -> None:
    before = torch.cuda.memory_allocated()
    tensor = torch.empty(MEBIBYTE, dtype=torch.uint8, device="cuda")
    assert tensor.nbytes <= torch.cuda.memory_allocated() - before < 1.1 * tensor.nbytes
    del tensor
    assert torch.cuda.memory_allocated() == before


def test_the_peak_is_seen_though_nobody_looked() -> None:
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    tensor = torch.empty(MEBIBYTE, dtype=torch.uint8, device="cuda")
    del tensor
    assert MEBIBYTE <= torch.cuda.max_memory_allocated() - before < 1.1 * MEBIBYTE
    assert torch.cuda.max_memory_reserved() >= torch.cuda.max_memory_allocated()


def test_the_peak_is_reset() -> None:
    tensor = torch.empty(MEBIBYTE, dtype=torch.uint8, device="cuda")
    del tensor
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated()


def test_memory_that_runs_out_is_cudas_error() -> None:
    ooms = torch.cuda.memory_stats()["num_ooms"]
    with pytest.raises(torch.cuda.OutOfMemoryError, match="CUDA out of memory. Tried to allocate"):
        torch.empty(1 << 50, dtype=torch.uint8, device="cuda")
    assert torch.cuda.memory_stats()["num_ooms"] == ooms + 1


def test_emptying_the_cache_gives_memory_back() -> None:
    tensors = [torch.ones(8192, device="cuda") for _ in range(2000)]
    wall = torch.ones(8192, device="cuda")  # keeps the heap from shrinking by itself
    del tensors
    before = psutil.Process().memory_info().rss
    torch.cuda.empty_cache()
    assert wall.sum() == 8192
    assert before - psutil.Process().memory_info().rss > 16 * MEBIBYTE
    assert torch.cuda.memory_allocated() <= torch.cuda.memory_reserved()


def test_reports_are_readable() -> None:
    summary = torch.cuda.memory_summary()
    assert "Allocated memory" in summary
    assert len({len(line) for line in summary.splitlines()}) == 1
    assert "process" in torch.cuda.list_gpu_processes()


def test_old_names_warn_as_on_cuda() -> None:
    with pytest.warns(FutureWarning, match=r"has been renamed to `torch\.cuda\.memory_reserved`"):
        assert torch.cuda.memory_cached() > 0
    with pytest.warns(FutureWarning, match="resets /all/ peak memory stats"):
        torch.cuda.reset_max_memory_allocated()


def test_memory_is_limited_to_a_fraction(platform: Platform) -> None:
    program = """
import torch
torch.cuda.set_per_process_memory_fraction(64e6 / torch.cuda.mem_get_info()[1])
torch.ones(1000, device="cuda")
try:
    torch.empty(1 << 28, device="cuda")
except torch.cuda.OutOfMemoryError:
    print("refused", round(torch.cuda.get_per_process_memory_fraction(), 9) < 1)
torch.cuda.set_per_process_memory_fraction(1.0)
print(torch.empty(1 << 28, device="cuda").nbytes)
"""
    assert platform.run(program).stdout.split() == ["refused", "True", str(1 << 30)]


@pytest.mark.parametrize(("fraction", "error"), [(1, TypeError), (1.5, ValueError)])
def test_a_fraction_that_is_none_is_refused(fraction: float, error: type[Exception]) -> None:
    with pytest.raises(error, match="Invalid"):
        torch.cuda.set_per_process_memory_fraction(fraction)


def test_totals_are_reset() -> None:
    torch.empty(MEBIBYTE, dtype=torch.uint8, device="cuda")
    torch.cuda.reset_accumulated_memory_stats()
    assert torch.cuda.memory_stats()["allocated_bytes.all.freed"] == 0


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


def test_a_pool_is_a_name() -> None:
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        assert torch.ones(2, device="cuda").sum() == 2
    assert pool.id != torch.cuda.MemPool().id
