"""Memory history and statistics, and what torch's profilers record of the device."""

import gc
import subprocess
import sys

import pytest
import torch


def record(**options: object) -> None:
    """Starts recording memory events."""
    torch.cuda.memory._record_memory_history(stacks="python", clear_history=True, **options)


def allocate() -> torch.Tensor:
    """Allocates the tensor whose frames the tests look up."""
    return torch.ones(1 << 19, device="cuda")


def test_events_and_blocks_have_the_frames_that_led_to_them() -> None:
    gc.collect()  # garbage of earlier tests would otherwise be freed while recording
    torch.cuda.empty_cache()
    record(max_entries=100)
    try:
        tensor = allocate()
        snapshot = torch.cuda.memory._snapshot()
        frames = torch.cuda.memory._allocation_traceback(tensor.data_ptr())
        del tensor
        events = torch.cuda.memory._snapshot()["device_traces"][0]
    finally:
        torch.cuda.memory._record_memory_history(None)
    assert [event["action"] for event in events][-3:] == ["alloc", "free_requested", "free_completed"]
    blocks = [block for segment in snapshot["segments"] for block in segment["blocks"]]
    for each in (frames, events[-3]["frames"], next(block["frames"] for block in blocks if block["frames"])):
        assert any(frame["name"] == "allocate" for frame in each)
    assert torch.cuda.memory._snapshot()["device_traces"] == [[], []]


def test_events_of_blocks_have_the_bytes_that_were_asked_for() -> None:
    record(context=None)
    try:
        torch.empty(1000, device="cuda", dtype=torch.uint8)
        events = torch.cuda.memory._snapshot()["device_traces"][0]
    finally:
        torch.cuda.memory._record_memory_history(None)
    assert [event["size"] for event in events if event["action"] != "segment_alloc"] == [1000] * 3


@pytest.mark.parametrize(
    ("option", "words"),
    [
        ({"enabled": "foo"}, "expected state to be 'state', 'all', or None"),
        ({"context": "foo"}, "expected context to be 'state', 'alloc', 'all', or None"),
        ({"stacks": "cpp"}, "expected stacks to be 'python', or 'all'"),
    ],
)
def test_a_history_is_of_known_parts(option: dict[str, str], words: str) -> None:
    with pytest.raises(RuntimeError, match=f"^{words}"):
        torch.cuda.memory._record_memory_history(**option)


def test_the_allocator_is_chosen_before_torch_starts() -> None:
    torch._C._accelerator_setAllocatorSettings("backend:native")
    words = "allocator backend parsed at load time, cudaMallocAsync != native"
    with pytest.raises(RuntimeError, match=words):
        torch._C._accelerator_setAllocatorSettings("backend:cudaMallocAsync")


def test_a_pool_is_of_an_allocator() -> None:
    assert type(torch.cuda.memory._get_current_allocator()).__name__ == "_CUDAAllocator"
    with pytest.raises(TypeError, match="incompatible constructor arguments"):
        torch.cuda.MemPool(3)


def test_a_pool_is_not_used_within_itself() -> None:
    pool = torch.cuda.MemPool()
    words = "^beginAllocateToPool: already recording to mempool_id"
    with (
        torch.cuda.use_mem_pool(pool),
        pytest.raises(RuntimeError, match=words),
        torch.cuda.use_mem_pool(pool),
    ):
        pass
    assert pool.use_count() == 2  # the beginning that failed has counted


def test_events_carry_what_the_program_says_of_them() -> None:
    record(context=None, skip_actions=["free_requested"])
    try:
        torch.cuda.memory._set_memory_metadata("step 3")
        allocate()
        events = torch.cuda.memory._snapshot()["device_traces"][0]
    finally:
        torch.cuda.memory._set_memory_metadata("")
        torch.cuda.memory._record_memory_history(None)
    assert {event["user_metadata"] for event in events} == {"step 3"}
    assert "free_requested" not in {event["action"] for event in events}


def test_pinned_memory_is_counted_as_held_and_in_use() -> None:
    torch._C._host_emptyCache()
    before = torch.cuda.host_memory_stats()
    tensor = torch.empty(10, dtype=torch.uint8, pin_memory=True)
    during = torch.cuda.host_memory_stats()
    del tensor
    after = torch.cuda.host_memory_stats()
    assert during["active_bytes.current"] - before["active_bytes.current"] == 16
    assert during["num_host_alloc"] - before["num_host_alloc"] == 1
    assert after["allocated_bytes.current"] - before["allocated_bytes.current"] == 16
    assert after["active_requests.current"] == before["active_requests.current"]
    torch._C._host_emptyCache()
    assert torch.cuda.host_memory_stats()["allocations.current"] == before["allocations.current"]


def test_allocations_are_rounded_as_the_settings_say() -> None:
    try:
        torch._C._accelerator_setAllocatorSettings("roundup_power2_divisions:4")
        before = torch.cuda.memory_allocated()
        tensor = torch.empty(21 << 20, dtype=torch.uint8, device="cuda")
        assert torch.cuda.memory_allocated() - before == 24 << 20
        del tensor
    finally:
        torch._C._accelerator_setAllocatorSettings("")


def test_torchs_profilers_measure_the_device() -> None:
    activities = [torch.profiler.ProfilerActivity.CPU, torch.profiler.ProfilerActivity.CUDA]
    with torch.profiler.profile(activities=activities) as profile:
        torch.ones(64, 64, device="cuda") @ torch.ones(64, 64, device="cuda")
    products = [event for event in profile.key_averages() if event.key == "aten::mm"]
    assert products[0].device_time_total > 0
    with torch.autograd.profiler.emit_nvtx(), torch.cuda.nvtx.range("add"):
        torch.ones(2, device="cuda") + 1


def test_libraries_are_chosen_and_their_settings_kept() -> None:
    torch.backends.cuda.preferred_linalg_library("cusolver")
    torch.backends.cuda.preferred_linalg_library("default")
    torch.backends.cuda.preferred_blas_library("cublaslt")
    torch.backends.cuda.preferred_blas_library("default")
    assert torch.backends.cudnn.benchmark_limit == 10
    torch.backends.cudnn.benchmark_limit = 4
    assert torch.backends.cudnn.benchmark_limit == 4
    with pytest.raises(RuntimeError, match="^set_benchmark_limit_cudnn expects an int, but got str"):
        torch.backends.cudnn.benchmark_limit = "x"
    torch.backends.cudnn.benchmark_limit = 10
    torch.backends.cuda.cufft_plan_cache[1].max_size = 11
    assert torch.backends.cuda.cufft_plan_cache[1].max_size == 11
    with pytest.raises(RuntimeError, match="^cuFFT plan cache size must be non-negative, but got -1"):
        torch.backends.cuda.cufft_plan_cache[1].max_size = -1


SEEN = """
import os, torch
first = torch.cuda.device_count()
os.environ["CUDA_VISIBLE_DEVICES"] = "1"
torch.zeros(1, device="cuda")
os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
print(first, torch.cuda.device_count(), torch._C._cuda_hasPrimaryContext(0))
"""


def test_the_devices_are_those_that_are_seen_at_the_first_use() -> None:
    output = subprocess.run([sys.executable, "-c", SEEN], check=True, capture_output=True, text=True).stdout
    assert output.split() == ["2", "1", "True"]


def test_profilers_see_what_the_device_allocates() -> None:
    with torch.profiler.profile(profile_memory=True) as profile:
        tensor = torch.empty(1000, device="cuda")
        del tensor
    [made] = [event for event in profile.events() if event.name == "aten::empty"]
    assert made.device_memory_usage == 4096
    freed = [event for event in profile.events() if event.name == "[memory]"]
    assert [event.device_memory_usage for event in freed] == [-4096]


def test_waits_for_all_streams_are_counted() -> None:
    def waits() -> list[int]:
        return [torch.cuda.memory_stats(index)["num_sync_all_streams"] for index in range(2)]

    before = waits()
    torch.cuda.empty_cache()
    assert waits() == [count + 1 for count in before]
    torch.cuda.reset_accumulated_memory_stats(1)
    assert waits() == [before[0] + 1, 0]
    stats = torch.cuda.memory_stats(1)
    assert stats["num_device_alloc"] == stats["num_device_free"] == 0


def test_figures_are_of_a_device_by_its_number() -> None:
    torch.cuda.init()
    for action in (torch.cuda.memory_allocated, torch.cuda.reset_peak_memory_stats):
        with pytest.raises(RuntimeError, match="^Invalid device argument -1: did you call init"):
            action(-1)


def test_memory_that_another_stream_uses_is_given_back_but_active() -> None:
    names = ("allocated_bytes", "active_bytes", "requested_bytes")

    def held() -> list[int]:
        return [torch.cuda.memory_stats()[f"{name}.all.current"] for name in names]

    torch.cuda.synchronize()
    torch.empty(1, device="cuda")  # takes back what other tests left
    before, side = held(), torch.cuda.Stream()
    tensor = torch.empty(1000, device="cuda", dtype=torch.uint8)
    with torch.cuda.stream(side):
        torch.cuda._sleep(200_000_000)
    tensor.record_stream(side)
    address = tensor.data_ptr()
    del tensor
    assert held() == [before[0], before[1] + 1024, before[2] + 1000]
    blocks = [block for segment in torch.cuda.memory_snapshot() for block in segment["blocks"]]
    assert [block["state"] for block in blocks if block["address"] == address] == ["active_pending_free"]
    side.synchronize()
    torch.empty(1, device="cuda")
    assert held() == before


def test_memory_of_an_idle_stream_is_taken_back_by_the_next_allocation() -> None:
    torch.cuda.empty_cache()
    before = torch.cuda.memory_stats()["active_bytes.all.current"]
    tensor, side = torch.empty(1000, device="cuda", dtype=torch.uint8), torch.cuda.Stream()
    tensor.record_stream(torch.cuda.current_stream())  # its own
    del tensor
    assert torch.cuda.memory_stats()["active_bytes.all.current"] == before
    tensor = torch.empty(1000, device="cuda", dtype=torch.uint8)
    tensor.record_stream(side)
    address = tensor.data_ptr()
    del tensor
    assert torch.cuda.memory_stats()["active_bytes.all.current"] == before + 1024
    assert torch.empty(1000, device="cuda", dtype=torch.uint8).data_ptr() == address
    assert torch.cuda.memory_stats()["active_bytes.all.current"] == before


def test_memory_is_given_back_once() -> None:
    address = torch.cuda.caching_allocator_alloc(1000)
    torch.cuda.caching_allocator_delete(address)
    for wrong in (address, 64):
        with pytest.raises(RuntimeError, match=f"^invalid device pointer: {wrong:#x}"):
            torch.cuda.caching_allocator_delete(wrong)


def test_memory_without_a_cache_is_the_drivers_and_goes_as_soon_as_it_is_free() -> None:
    torch.cuda.empty_cache()
    cached = torch.ones(3, device="cuda")
    before, (free, _) = torch.cuda.memory_stats(), torch.cuda.mem_get_info()
    with torch.cuda.caching_allocator_disabled():
        with torch.cuda.caching_allocator_disabled():
            pass
        tensor = torch.ones(8 << 20, device="cuda") + cached[0]
        assert tensor.sum().item() == 16 << 20
        assert torch.cuda.mem_get_info()[0] <= free - (32 << 20)
        assert torch.cuda.memory_stats() == before
        tensor.record_stream(torch.cuda.Stream())
        kept = torch.ones(3, device="cuda")
    del tensor, cached
    assert torch.cuda.mem_get_info()[0] >= free - (4 << 20)
    assert kept.tolist() == [1, 1, 1]
    assert torch.cuda.memory_allocated() == before["allocated_bytes.all.current"] - 512


def test_a_profiler_measures_the_device_unless_it_is_told_not_to() -> None:
    assert torch.profiler.ProfilerActivity.CUDA in torch.profiler.supported_activities()
    with torch.profiler.profile() as profile:
        torch.ones(64, 64, device="cuda").exp()
    times = {each.key: each.device_time_total for each in profile.key_averages()}
    assert times["aten::exp"] > 0
    assert "CUDA total" in profile.key_averages().table(sort_by="cuda_time_total")


def test_the_parameters_of_torch_2_14() -> None:
    earlier = (None, None, "python", 1, False, False, False, [])
    torch._C._cuda_record_memory_history(*earlier, False, True)
    with pytest.raises(NotImplementedError, match="record_pinned_host_memory"):
        torch._C._cuda_record_memory_history(*earlier, True, True)
