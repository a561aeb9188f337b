"""The profiler, ranges and benchmarks."""

import torch
import torch.utils.benchmark
from torch.profiler import ProfilerActivity, profile, record_function, schedule


def _work():
    x = torch.ones(10, 10, device="cuda")
    return (x @ x).sum().item()


def profile_of_both():
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA]) as prof:
        _work()
    assert any("mm" in event.key for event in prof.key_averages())


def profile_as_a_table():
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True) as prof:
        with record_function("forward"):
            _work()
    assert "forward" in prof.key_averages().table(sort_by="cuda_time_total", row_limit=10)


def profile_with_memory():
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], profile_memory=True) as prof:
        _work()
    assert len(prof.events()) > 0


def profile_by_schedule():
    traces = []
    with profile(
        activities=[ProfilerActivity.CUDA, ProfilerActivity.CPU],
        schedule=schedule(wait=0, warmup=1, active=1),
        on_trace_ready=traces.append,
    ) as prof:
        for _ in range(3):
            _work()
            prof.step()
    assert len(traces) >= 1


def profile_of_autograd():
    with torch.autograd.profiler.profile(use_device="cuda") as prof:
        _work()
    assert prof.key_averages() is not None


def profile_of_autograd_of_old():
    with torch.autograd.profiler.profile(use_cuda=True) as prof:
        _work()
    assert "mm" in prof.key_averages().table(sort_by="self_cpu_time_total")


def emitted_ranges():
    with torch.cuda.profiler.profile(), torch.autograd.profiler.emit_nvtx():
        assert _work() == 1000


def profiler_of_cuda():
    torch.cuda.profiler.start()
    torch.cuda.profiler.stop()
    assert torch.cuda.cudart() is not None


def ranges():
    torch.cuda.nvtx.range_push("step")
    torch.cuda.nvtx.mark("now")
    torch.cuda.nvtx.range_pop()
    assert torch.cuda.nvtx.range_end(torch.cuda.nvtx.range_start("other")) is None


def range_as_a_block():
    with torch.cuda.nvtx.range("step {}", 1):
        assert _work() == 1000


def range_as_a_decorator():
    @torch.cuda.nvtx.range("work")
    def work():
        return _work()

    assert work() == 1000


def benchmark_timer():
    timer = torch.utils.benchmark.Timer("x + 1", globals={"x": torch.ones(2, device="cuda")})
    assert timer.timeit(5).median > 0


EXPRESSIONS = {
    "profile_is_a_profile": lambda: isinstance(
        profile(activities=[ProfilerActivity.CUDA]), torch.profiler.profile
    ),
    "activity_has_a_name": lambda: ProfilerActivity.CUDA.name == "CUDA",
    "activities_are_supported": lambda: ProfilerActivity.CUDA in torch.profiler.supported_activities(),
}
