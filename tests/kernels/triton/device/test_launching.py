"""Launches: tuning, hooks, graphs, arguments, and what is refused."""

import pytest
import torch

triton = pytest.importorskip("triton")
tl = pytest.importorskip("triton.language")


@triton.jit
def scale(x, out, count, factor, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < count) * factor, mask=i < count)


tuned = triton.autotune(
    configs=[triton.Config({"BLOCK": size}, num_warps=4) for size in (64, 128)], key=["count"]
)(scale)
guessed = triton.heuristics({"BLOCK": lambda arguments: triton.next_power_of_2(arguments["count"])})(scale)


def test_tuning():
    x = torch.randn(200, device="cuda")
    out = torch.empty_like(x)
    tuned[lambda meta: (triton.cdiv(200, meta["BLOCK"]),)](x, out, 200, 3.0)
    assert torch.equal(out, x * 3)
    assert tuned.best_config.kwargs["BLOCK"] in (64, 128)


def test_options_that_change_nothing_are_not_compiled_again():
    from morph.kernels.triton import building

    x = torch.randn(77, device="cuda")
    before = building.build.cache_info().misses
    for warps in (1, 2, 8):
        scale.warmup(x, x, 77, 0.5, BLOCK=32, num_warps=warps, grid=(1,)).asm["so"]
    assert building.build.cache_info().misses <= before + 1


def test_heuristics():
    x = torch.randn(200, device="cuda")
    out = torch.empty_like(x)
    guessed[(1,)](x, out, 200, -1.0)
    assert torch.equal(out, -x)


def test_benchmark():
    x = torch.randn(1000, device="cuda")
    out = torch.empty_like(x)
    took = triton.testing.do_bench(lambda: scale[(8,)](x, out, 1000, 2.0, BLOCK=128), warmup=1, rep=5)
    assert 0 < took < 1000  # milliseconds


def test_device_that_is_told():
    device = triton.runtime.driver.active
    assert device.get_current_target().backend == "cuda"
    assert device.get_active_torch_device() == torch.device("cuda", 0)
    assert device.utils.get_device_properties(0)["multiprocessor_count"] > 0


def test_graph():
    x = torch.ones(128, device="cuda")
    out = torch.zeros_like(x)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        scale[(1,)](x, out, 128, 5.0, BLOCK=128)
    assert not out.any()
    x.fill_(2)
    graph.replay()
    assert out.tolist() == [10.0] * 128


def test_empty_grid():
    x = torch.ones(128, device="cuda")
    scale[(0,)](x, x, 128, 5.0, BLOCK=128)
    assert x.sum() == 128


def test_arguments_of_every_width():
    x = torch.ones(128, dtype=torch.int64, device="cuda")
    for factor in (1, -3, 2**31, -(2**40), True):
        out = torch.empty_like(x)
        scale[(1,)](x, out, 128, factor, BLOCK=128)
        assert set(out.tolist()) == {int(factor)}


def test_tensor_of_the_host():
    with pytest.raises(ValueError, match="cannot be accessed from Triton"):
        scale[(1,)](torch.ones(128), torch.ones(128, device="cuda"), 128, 2.0, BLOCK=128)


@triton.jit
def optional(x, bias, out, BLOCK: tl.constexpr):
    i = tl.arange(0, BLOCK)
    value = tl.load(x + i)
    if bias is not None:
        value += tl.load(bias + i)
    tl.store(out + i, value)


@triton.jit
def take_turns(count, turns):
    tl.store(turns + tl.program_id(0), tl.atomic_add(count, 1))


def test_shuffled_instances(monkeypatch):
    def order():
        count, turns = torch.zeros(1, dtype=torch.int32), torch.empty(8, dtype=torch.int32)
        count, turns = count.cuda(), turns.cuda()
        take_turns[(8,)](count, turns)
        return turns.tolist()

    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        orders = [order() for seed in "0112" if monkeypatch.setenv("MORPH_SHUFFLE", seed) is None]
    finally:
        torch.set_num_threads(threads)
    assert orders[0] == list(range(8))
    assert orders[1] == orders[2]
    assert [sorted(each) == orders[0] for each in orders] == [True] * 4
    assert len({tuple(each) for each in orders}) == 3


def test_none():
    x = torch.randn(16, device="cuda")
    for bias in (None, torch.randn(16, device="cuda")):
        out = torch.empty_like(x)
        optional[(1,)](x, bias, out, BLOCK=16)
        assert torch.equal(out, x if bias is None else x + bias)


@triton.jit
def checked(x, BLOCK: tl.constexpr):
    value = tl.load(x + tl.arange(0, BLOCK))
    tl.device_assert(value < 10, "too large")


def test_assertion():
    x = torch.arange(8, dtype=torch.int32).cuda()
    checked[(1,)](x, BLOCK=8, debug=True)
    x[3] = 11
    with pytest.raises(
        RuntimeError, match=r"checked stopped: assertion failed in instance \(0, 0, 0\): too large"
    ):
        checked[(1,)](x, BLOCK=8, debug=True)


def test_hooks():
    seen = []
    x = torch.ones(128, device="cuda")
    hook = lambda launch: seen.append(launch.get()["name"])  # noqa: E731
    triton.knobs.runtime.launch_enter_hook.add(hook)
    try:
        scale[(1,)](x, x, 128, 5.0, BLOCK=128)
    finally:
        triton.knobs.runtime.launch_enter_hook.remove(hook)
    assert seen == ["scale"]


def test_a_profiler_records_a_launch():
    x = torch.ones(128, device="cuda")
    with torch.profiler.profile(activities=[torch.profiler.ProfilerActivity.CUDA]) as profiler:
        scale[(1,)](x, x, 128, 5.0, BLOCK=128)
    assert {"scale", "cudaLaunchKernel"} <= {event.key for event in profiler.key_averages()}
