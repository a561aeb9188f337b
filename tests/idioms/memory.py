"""Memory: total, used, and the functions that report and manage it."""

import gc

import torch

from idiom import refusal


def _allocate_64_terabytes():
    torch.empty(2**46, dtype=torch.uint8, device="cuda")


def allocated_grows():
    before = torch.cuda.memory_allocated()
    x = torch.zeros(2**20, device="cuda")
    assert torch.cuda.memory_allocated() - before >= x.nbytes


def allocated_shrinks():
    x = torch.zeros(2**20, device="cuda")
    before = torch.cuda.memory_allocated()
    nbytes = x.nbytes
    del x
    assert before - torch.cuda.memory_allocated() >= nbytes


def peak_is_kept():
    torch.cuda.reset_peak_memory_stats()
    x = torch.zeros(2**20, device="cuda")
    nbytes = x.nbytes
    del x
    assert torch.cuda.max_memory_allocated() - torch.cuda.memory_allocated() >= nbytes


def peak_is_reset():
    torch.zeros(2**20, device="cuda")
    torch.cuda.reset_peak_memory_stats()
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated()


def peak_is_reset_by_its_old_name():
    torch.cuda.reset_max_memory_allocated()
    torch.cuda.reset_max_memory_cached()
    assert torch.cuda.max_memory_allocated() == torch.cuda.memory_allocated()


def reserved_holds_allocated():
    x = torch.zeros(1000, device="cuda")
    assert torch.cuda.memory_reserved() >= torch.cuda.memory_allocated() >= x.nbytes


def reserved_by_its_old_name():
    assert torch.cuda.memory_cached() == torch.cuda.memory_reserved()
    assert torch.cuda.max_memory_cached() == torch.cuda.max_memory_reserved()


def allocated_on_a_device():
    assert torch.cuda.memory_allocated(0) == torch.cuda.memory_allocated("cuda:0")
    assert torch.cuda.memory_allocated(torch.device("cuda", 0)) == torch.cuda.memory_allocated(device=0)


def allocated_on_the_second_device():
    before = torch.cuda.memory_allocated(1)
    x = torch.zeros(2**20, device="cuda:1")
    assert torch.cuda.memory_allocated(1) - before >= x.nbytes


def cache_is_emptied_after_collection():
    gc.collect()
    torch.cuda.empty_cache()
    torch.cuda.ipc_collect()
    assert torch.cuda.memory_reserved() >= torch.cuda.memory_allocated()


def free_and_total():
    free, total = torch.cuda.mem_get_info()
    assert 0 < free <= total


def total_is_that_of_the_properties():
    total = torch.cuda.get_device_properties(0).total_memory
    assert abs(total - torch.cuda.mem_get_info(0)[1]) <= total // 8


def statistics():
    x = torch.zeros(1000, device="cuda")
    assert torch.cuda.memory_stats()["allocated_bytes.all.current"] >= x.nbytes


def statistics_of_the_peak():
    stats = torch.cuda.memory_stats("cuda:0")
    assert stats["allocated_bytes.all.peak"] >= stats["allocated_bytes.all.current"]
    assert stats["reserved_bytes.all.current"] >= 0 and stats.get("num_ooms", 0) >= 0


def accumulated_statistics_are_reset():
    torch.cuda.reset_accumulated_memory_stats()
    assert torch.cuda.memory_stats()["num_alloc_retries"] == 0


def fraction_is_set():
    assert torch.cuda.set_per_process_memory_fraction(0.9, 0) is None
    torch.cuda.set_per_process_memory_fraction(1.0, device=0)


def history_is_recorded():
    torch.cuda.memory._record_memory_history(max_entries=100)
    x = torch.zeros(10, device="cuda")
    snapshot = torch.cuda.memory._snapshot()
    torch.cuda.memory._record_memory_history(enabled=None)
    assert "segments" in snapshot and x.is_cuda


def allocator_by_hand():
    pointer = torch.cuda.caching_allocator_alloc(1024)
    torch.cuda.caching_allocator_delete(pointer)
    assert pointer != 0


def pool():
    pool = torch.cuda.MemPool()
    with torch.cuda.use_mem_pool(pool):
        assert torch.zeros(10, device="cuda").is_cuda


def gigabytes_are_printed():
    peak, total = torch.cuda.max_memory_allocated() / 1024**3, torch.cuda.mem_get_info()[1] / 2**30
    assert " GB of " in f"{peak:.2f} GB of {total:.1f} GB"


def accelerator_tells_the_memory():
    x = torch.zeros(1000, device="cuda")
    torch.accelerator.synchronize()
    assert torch.accelerator.memory_allocated() >= x.nbytes
    assert torch.accelerator.empty_cache() is None


EXPRESSIONS = {
    "peak_reserved_holds_reserved": lambda: torch.cuda.max_memory_reserved() >= torch.cuda.memory_reserved(),
    "cache_is_emptied": lambda: torch.cuda.empty_cache() is None,
    "free_and_total_of_a_device": lambda: (
        torch.cuda.mem_get_info(torch.device("cuda:0"))[1] == torch.cuda.mem_get_info(0)[1]
    ),
    "statistics_as_a_tree": lambda: (
        torch.cuda.memory_stats_as_nested_dict()["allocated_bytes"]["all"]["current"] >= 0
    ),
    "summary": lambda: "Allocated memory" in torch.cuda.memory_summary(),
    "short_summary": lambda: isinstance(torch.cuda.memory_summary(device="cuda", abbreviated=True), str),
    "snapshot": lambda: isinstance(torch.cuda.memory_snapshot(), list),
    "processes_are_listed": lambda: isinstance(torch.cuda.list_gpu_processes(), str),
    "backend_of_the_allocator": lambda: torch.cuda.get_allocator_backend() in ("native", "cudaMallocAsync"),
    "out_of_memory_is_an_error": lambda: issubclass(torch.cuda.OutOfMemoryError, RuntimeError),
    "fraction_out_of_range": lambda: refusal(
        lambda: torch.cuda.set_per_process_memory_fraction(2.0), ValueError
    ),
    "out_of_memory_is_caught": lambda: refusal(_allocate_64_terabytes, torch.cuda.OutOfMemoryError),
    "out_of_memory_is_caught_by_its_text": lambda: (
        "out of memory" in refusal(_allocate_64_terabytes, RuntimeError)
    ),
}
