"""NCCL's process groups have on the software device what they have in torch built for CUDA, by release."""

import contextlib
import functools
import os
import pathlib
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from unittest import mock

import pytest
import torch
import torch.distributed as dist
from torch.distributed._functional_collectives import allow_inflight_collective_as_graph_input_ctx

from tests.platforms import Platform
from tests.releases.signatures import CLASSES, COMMAND, load_nccl, releases

pytestmark = pytest.mark.platforms("cpu")
OF_PYBIND11 = {"_pybind11_conduit_v1_"}


@contextlib.contextmanager
def group_of_one(folder: pathlib.Path) -> Iterator[Any]:
    dist.init_process_group("nccl", init_method=f"file://{folder}/store", rank=0, world_size=1)
    world: Any = dist.group.WORLD
    try:
        yield world._get_backend(torch.device("cuda"))
    finally:
        dist.destroy_process_group()


def test_every_release_is_recorded() -> None:
    missing = set(releases()) - set(load_nccl())
    assert not missing, f"to record them: {COMMAND} {' '.join(sorted(missing))}"


def test_names_are_those_of_every_release(tmp_path: pathlib.Path) -> None:
    options = dist.ProcessGroupNCCL.Options()
    with group_of_one(tmp_path) as group:
        assert isinstance(group, dist.ProcessGroupNCCL)
        own = dict(zip(CLASSES, map(dir, (group, options, options.config)), strict=True))
    for release, names in load_nccl().items():
        lacking = {name: set(names[name]) - set(own[name]) - OF_PYBIND11 for name in CLASSES}
        assert lacking == dict.fromkeys(CLASSES, set()), release


def test_what_changes_nothing_is_accepted(tmp_path: pathlib.Path) -> None:
    with group_of_one(tmp_path) as group:
        pool = torch.cuda.MemPool()
        group._add_ephemeral_timeout(timedelta(seconds=5))
        group._set_default_timeout(timedelta(minutes=3))
        assert group.options._timeout == timedelta(minutes=3)
        group._group_start()
        group._group_end()
        group._set_enable_nan_check(False)
        group.register_mem_pool(pool)
        group.deregister_mem_pool(pool)
        group_class: Any = dist.ProcessGroupNCCL
        version = vars(torch.cuda.nccl)["version"]()
        assert group.get_build_nccl_version() == group.get_runtime_nccl_version() == version
        assert group_class.get_build_nccl_version() == version
        assert group.get_error() is not None
        assert group.bound_device_id is None
        for refused in (group._comm_ptr, group._end_time_estimate):
            with pytest.raises(NotImplementedError, match=refused.__name__):
                refused()


def test_a_communicator_is_made_by_its_first_collective_and_split(tmp_path: pathlib.Path) -> None:
    with group_of_one(tmp_path) as group:
        assert not group._is_initialized()
        dist.all_reduce(torch.ones(1, device="cuda"))
        assert group._is_initialized()
        group.perform_nocolor_split(torch.device("cuda", 0))
        assert group.comm_split_count() == 1


@pytest.mark.parametrize("end", ["shutdown", "abort"])
def test_a_group_that_has_ended_refuses_collectives(tmp_path: pathlib.Path, end: str) -> None:
    with group_of_one(tmp_path) as group:
        getattr(group, end)()
        with pytest.raises(dist.DistBackendError, match="NCCL communicator was aborted on rank 0"):
            group.allreduce([torch.ones(1, device="cuda")])


def test_what_nccl_refuses_is_refused_in_its_words(tmp_path: pathlib.Path) -> None:
    one, two = torch.ones(1, device="cuda"), torch.ones(2, device="cuda", dtype=torch.long)
    sparse = one.to_sparse()
    c10d: Any = dist.distributed_c10d
    gather, scatter = c10d.GatherOptions(), c10d.ScatterOptions()
    gather.rootRank = scatter.rootRank = 1
    with group_of_one(tmp_path) as group:
        with pytest.raises(ValueError, match="ProcessGroupNCCL::gather: invalid root rank: 1"):
            group.gather([[one]], [one], gather)
        with pytest.raises(ValueError, match="ProcessGroupNCCL::scatter: invalid root rank: 1"):
            group.scatter([one], [[one]], scatter)
        scatter.rootRank = 0
        with pytest.raises(ValueError, match=r"Incorrect input list size 2\. Input list size should be 1"):
            group.scatter([one], [[one, one]], scatter)
        with pytest.raises(TypeError, match="output tensor must have the same type as input tensor"):
            group._allgather_base(two, one)
        with pytest.raises(RuntimeError, match="NCCL does not support all_reduce with sparse tensors"):
            dist.all_reduce(sparse)
        for collective in (dist.all_gather, dist.reduce_scatter):
            for given in ([one], torch.ones(1)), ([torch.ones(1)], one):
                with pytest.raises((RuntimeError, ValueError), match="must be CUDA|No backend type"):
                    collective(*given if collective is dist.all_gather else given[::-1])
        receive = functools.partial(group.recv, [one], 1, 0)
        for call in (lambda: dist.send(one, 1), receive, lambda: dist.broadcast(one, 1)):
            with pytest.raises(dist.DistBackendError, match="ncclInvalidArgument"):
                call()


def test_work_is_in_torchs_registry_until_it_is_waited_for(tmp_path: pathlib.Path) -> None:
    c10d: Any = torch._C._distributed_c10d
    with group_of_one(tmp_path), allow_inflight_collective_as_graph_input_ctx():
        waited, tensor = torch.ones(2, 1, device="cuda")
        work = dist.all_reduce(waited, async_op=True)
        dist.all_reduce(tensor, async_op=True)
        assert c10d._get_work_registry_size() == 2
        assert work is not None
        work.wait()
        torch.ops.c10d_functional.wait_tensor(tensor)
        assert c10d._get_work_registry_size() == 0
        assert dist.distributed_c10d._get_default_group()._get_sequence_number_for_group() == 2


def test_a_group_is_made_with_a_timeout() -> None:
    group_class: Any = dist.ProcessGroupNCCL
    group = group_class(dist.HashStore(), 0, 1, timeout=timedelta(seconds=7))
    assert group.options._timeout == timedelta(seconds=7)
    wrong = mock.patch.dict(os.environ, TORCH_NCCL_BLOCKING_WAIT="abc")
    with wrong, pytest.raises(RuntimeError, match="Invalid value .*: TORCH_NCCL_BLOCKING_WAIT"):
        group_class(dist.HashStore(), 0, 1)


def test_a_hook_is_told_of_each_work_that_is_complete(tmp_path: pathlib.Path) -> None:
    seen: list[Any] = []
    with group_of_one(tmp_path):
        group: Any = dist.distributed_c10d._get_default_group()
        with pytest.raises(ValueError, match="require setting TORCH_NCCL_ENABLE_TIMING"):
            group._register_on_completion_hook(seen.append)
        with mock.patch.dict(os.environ, TORCH_NCCL_ENABLE_TIMING="1"):
            group._register_on_completion_hook(lambda info: seen.append(info))
        for tensor in torch.ones(2, 1, device="cuda"):
            dist.all_reduce(tensor, async_op=True)
        group._wait_for_pending_works()
    assert [info.op_type.name for info in seen] == ["ALLREDUCE"] * 2
    assert all(info.active_duration.total_seconds() >= 0 for info in seen)


def test_groups_share_a_thread_that_polls(tmp_path: pathlib.Path) -> None:
    threads = pathlib.Path("/proc/self/task")
    with group_of_one(tmp_path):
        groups = [dist.new_group([0]) for _ in range(3)]
        names = [(each / "comm").read_text().strip() for each in threads.iterdir()]
        assert names.count("gloo_tcp_loop") <= 1  # none where gloo names no threads
        for number, group in enumerate(groups):
            tensor = torch.full((2,), number, device="cuda")
            dist.all_reduce(tensor, group=group)
            assert tensor.tolist() == [number] * 2


@pytest.mark.parametrize(
    ("name", "expected"),
    [("lo", contextlib.nullcontext()), ("absent0", pytest.raises(RuntimeError, match="absent0"))],
)
def test_groups_connect_by_the_interface_that_the_environment_names(
    tmp_path: pathlib.Path, name: str, expected: contextlib.AbstractContextManager[object]
) -> None:
    from morph.software import distributed

    distributed._connections.cache_clear()
    with mock.patch.dict(os.environ, GLOO_SOCKET_IFNAME=name), expected, group_of_one(tmp_path):
        tensor = torch.ones(2, device="cuda")
        dist.all_reduce(tensor)
        assert tensor.tolist() == [1, 1]
    distributed._connections.cache_clear()


def test_work_has_what_torchs_has(tmp_path: pathlib.Path) -> None:
    with group_of_one(tmp_path):
        tensor = torch.ones(2, device="cuda")
        work = dist.all_reduce(tensor, async_op=True)
        assert work is not None
        work.wait()
        assert (work.is_completed(), work.exception()) == (True, None)
        with pytest.raises(NotImplementedError, match=r"WorkNCCL::isSuccess\(\) is deprecated"):
            work.is_success()
        work.synchronize()
        assert work.get_future().wait()[0].tolist() == [1, 1]
        assert [each.tolist() for each in work.result()] == [[1, 1]]
        assert isinstance(work._source_rank(), int)
        if hasattr(work, "block_current_stream"):  # torch 2.9
            work.block_current_stream()
        if hasattr(work, "get_future_result"):
            assert work.get_future_result().wait() == 0


COMPILED = """
import sys
import torch
import torch.distributed as dist
from torch._dynamo.utils import counters
dist.init_process_group("nccl", init_method=f"file://{sys.argv[1]}/store", world_size=1, rank=0)
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(2, 2).cuda())
double = torch.compile(lambda tensor: tensor * 2 + 1)
print(double(torch.ones(8, device="cuda")).sum().item())
torch.compile(model)(torch.ones(1, 2, device="cuda")).sum().backward()
print(counters["inductor"]["fxgraph_cache_hit"] > 0)
dist.destroy_process_group()
"""


@pytest.mark.long
def test_compiled_code_is_found_again_in_a_process_group(platform: Platform, tmp_path: pathlib.Path) -> None:
    caches = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path / "cache")}
    outputs = []
    for name in ("first", "second"):
        (tmp_path / name).mkdir()
        done = platform.run(COMPILED.replace("sys.argv[1]", repr(str(tmp_path / name))), environment=caches)
        outputs.append(done.stdout.split())
    assert outputs == [["24.0", "False"], ["24.0", "True"]]
