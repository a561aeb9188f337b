"""Moore Threads' adapters call functions with the recorded parameters."""

from types import SimpleNamespace

import pytest
import torch

from morph.aliases.adapters import generators, graphs, pools
from morph.aliases.adapters.musa import precision
from morph.aliases.adapters.musa.cuda_runtime import cudart as cudart_of
from morph.aliases.adapters.properties import DeviceProperties
from morph.base.errors import MissingNameError
from tests.aliases.recorded import VENDORS, properties, runtime
from tests.platforms import Platform

OVERWRITTEN = """
import torch, morph

own, calls = torch.cuda, []
morph.activate("musa", simulated=True)
assert torch.cuda._lazy_init is torch.musa._lazy_init
assert torch.ones(2, device="cuda").untyped_storage().is_cuda
torch.cuda._lazy_call(lambda: calls.append("called"))
assert calls == ["called"]
morph.deactivate()
assert torch.cuda is own
assert (own._lazy_init, own._lazy_call) == (torch.musa._lazy_init, torch.musa._lazy_call)
assert vars(torch.UntypedStorage)["is_cuda"] is vars(torch.UntypedStorage)["is_musa"]
"""


def test_the_runtime_of_moore_threads_is_cudas() -> None:
    musart = runtime("torch_musa._MUSAC._musart", "musaError", musaHostRegister=0, musaGetErrorString="bad")
    cudart = cudart_of(lambda: musart)
    assert cudart.cudaHostRegister(1, 2, 3) is cudart.cudaError.success
    assert musart.musaHostRegister.calls == [{"ptr": 1, "size": 2, "flags": 3}]
    assert cudart.cudaGetErrorString(0) == "bad"


def test_the_profiler_of_moore_threads_is_started_where_its_runtime_can_be_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    musart = runtime("torch_musa._MUSAC._musart", "musaError", musaProfilerStart=0, musaProfilerStop=0)
    cudart = cudart_of(lambda: musart)
    assert cudart.cudaProfilerStart() == cudart.cudaProfilerStop() == cudart.cudaError.success
    assert (len(musart.musaProfilerStart.calls), len(musart.musaProfilerStop.calls)) == (1, 1)
    marks: list[str] = []
    monkeypatch.setattr(torch.cuda.nvtx, "mark", marks.append)
    del musart.musaProfilerStart  # before torch_musa 2.11.0.post2
    assert cudart.cudaProfilerStart() == cudart.cudaError.success
    assert marks == ["cudaProfilerStart"]


def test_a_pool_of_moore_threads_takes_what_its_release_has() -> None:
    initialised: list[tuple[object, ...]] = []

    def initialise(pool: object, allocator: object = None) -> None:  # torch_musa 2.7
        initialised.append((pool, allocator))

    def with_use_on_oom(pool: object, allocator: object = None, use_on_oom: bool = False) -> None:
        initialised.append((pool, allocator, use_on_oom))

    pools.initialise_pool(initialise, "pool", "allocator")
    pools.initialise_pool(with_use_on_oom, "pool", use_on_oom=True)
    assert initialised == [("pool", "allocator"), ("pool", None, True)]
    for target, option in ((initialise, "use_on_oom"), (with_use_on_oom, "no_split")):
        with pytest.raises(MissingNameError, match=rf"MemPool\({option}=True\)"):
            pools.initialise_pool(target, "pool", **{option: True})


def test_graphed_callables_do_not_take_a_pool_on_moore_threads_before_post_releases_of_2_9() -> None:
    taken: list[tuple[object, ...]] = []

    def make(
        callables: object, sample_args: object, num_warmup_iters: int = 3, allow_unused_input: bool = False
    ) -> str:
        taken.append((callables, sample_args, num_warmup_iters))
        return "graphed"

    assert graphs.make_graphed_callables(make, "f", ("x",), pool=(0, 1)) == "graphed"
    assert taken == [("f", ("x",), 3)]


def test_properties_that_moore_threads_reports_since_2_11_are_its_own() -> None:
    seen = DeviceProperties(properties("musa", VENDORS["musa"]), (8, 0), 1)
    assert (seen.major, seen.uuid, seen.L2_cache_size, seen.warp_size) == (
        8,
        "uuid",
        "L2_cache_size",
        "warp_size",
    )


@pytest.mark.parametrize("vendor", ["musa"], indirect=True)
def test_generators_that_are_bound_late_are_there_from_the_start(vendor: SimpleNamespace) -> None:
    generator = torch.Generator()

    def lazy_init() -> None:
        vendor.default_generators = (generator,)

    vendor._lazy_init = lazy_init
    assert generators.default_generators[0] is generator
    assert (len(generators.default_generators), list(generators.default_generators)) == (1, [generator])
    assert generators.get_generator(torch.device("cuda:0")) is generator


@pytest.mark.usefixtures("flags")
def test_tf32_of_moore_threads_is_on_while_both_of_cudas_are(monkeypatch: pytest.MonkeyPatch) -> None:
    mudnn = SimpleNamespace(allow_tf32=True)
    monkeypatch.setattr(torch.backends, "mudnn", mudnn, raising=False)
    assert precision.switches.matmul.allow_tf32  # the vendor's default
    precision.switches.matmul.allow_tf32 = True
    assert mudnn.allow_tf32
    precision.switches.convolution.fp32_precision = "ieee"
    assert not mudnn.allow_tf32


@pytest.mark.platforms("cpu")  # for its environment, in which nothing is loaded yet
def test_what_the_vendor_overwrites_is_not_in_the_way_and_stays(platform: Platform) -> None:
    platform.run(OVERWRITTEN, morph=False)
