"""Collectives, meshes and data parallel training in a world of one process."""

import contextlib
import os
import pathlib
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
from torch.nn.parallel import DistributedDataParallel


def _world(backend="nccl", **arguments):
    store = dist.FileStore(tempfile.mktemp(), 1)
    dist.init_process_group(backend, store=store, rank=0, world_size=1, **arguments)


@contextlib.contextmanager
def _environment(**variables):
    before = dict(os.environ)
    os.environ.update(variables, MASTER_ADDR="127.0.0.1", RANK="0", WORLD_SIZE="1")
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def nccl_by_file():
    path = pathlib.Path(tempfile.mkdtemp(), "rendezvous")
    dist.init_process_group("nccl", init_method=f"file://{path}", rank=0, world_size=1)
    assert dist.is_initialized() and dist.get_world_size() == 1


def nccl_by_address():
    dist.init_process_group(backend="nccl", init_method="tcp://127.0.0.1:0", rank=0, world_size=1)
    assert dist.get_rank() == 0


def nccl_by_environment():
    store = dist.TCPStore("127.0.0.1", 0, is_master=True)
    with _environment(MASTER_PORT=str(store.port), TORCHELASTIC_USE_AGENT_STORE="True"):
        dist.init_process_group("nccl")
        assert dist.is_initialized()


def backend_of_the_world():
    _world()
    assert dist.get_backend() == "nccl"


def backend_decides_the_device():
    _world()
    device = torch.device("cuda") if dist.get_backend() == "nccl" else torch.device("cpu")
    x = torch.ones(2, device=device)
    dist.all_reduce(x)
    assert x.is_cuda


def backend_by_constant():
    _world(dist.Backend.NCCL)
    assert dist.get_backend() == dist.Backend.NCCL


def backend_of_both_devices():
    _world("cpu:gloo,cuda:nccl")
    host, device = torch.ones(2), torch.ones(2, device="cuda")
    dist.all_reduce(host)
    dist.all_reduce(device)
    assert host.tolist() == device.tolist() == [1, 1]


def backend_by_default():
    _world(None)
    x = torch.ones(2, device="cuda")
    dist.all_reduce(x)
    assert x.is_cuda


def device_of_the_world():
    _world(device_id=torch.device("cuda:0"))
    x = torch.ones(2, device="cuda")
    dist.broadcast(x, 0)
    assert x.tolist() == [1, 1]


def all_reduce():
    _world()
    x = torch.arange(3.0, device="cuda")
    dist.all_reduce(x, op=dist.ReduceOp.SUM)
    assert x.tolist() == [0, 1, 2]


def all_reduce_later():
    _world()
    x = torch.ones(3, device="cuda")
    dist.all_reduce(x, async_op=True).wait()
    assert x.sum().item() == 3


def all_gather():
    _world()
    gathered = [torch.empty(2, device="cuda")]
    dist.all_gather(gathered, torch.ones(2, device="cuda"))
    assert gathered[0].tolist() == [1, 1]


def all_gather_into_a_tensor():
    _world()
    gathered = torch.empty(2, device="cuda")
    dist.all_gather_into_tensor(gathered, torch.ones(2, device="cuda"))
    assert gathered.tolist() == [1, 1]


def reduce_scatter():
    _world()
    mine = torch.empty(2, device="cuda")
    dist.reduce_scatter_tensor(mine, torch.ones(2, device="cuda"))
    assert mine.tolist() == [1, 1]


def objects():
    _world()
    gathered = [None]
    dist.all_gather_object(gathered, {"loss": 1.0})
    values = [{"seed": 3}]
    dist.broadcast_object_list(values, src=0, device=torch.device("cuda"))
    assert gathered == [{"loss": 1.0}] and values == [{"seed": 3}]


def barrier():
    _world()
    dist.barrier()
    assert dist.barrier(device_ids=[0]) is None


def new_group():
    _world()
    group = dist.new_group([0], backend="nccl")
    x = torch.ones(1, device="cuda")
    dist.all_reduce(x, group=group)
    assert dist.get_backend(group) == "nccl"


def new_group_on_the_host():
    _world()
    group = dist.new_group(backend="gloo")
    x = torch.ones(1)
    dist.all_reduce(x, group=group)
    assert dist.get_backend(group) == "gloo"


def mesh():
    _world()
    mesh = dist.init_device_mesh("cuda", (1,), mesh_dim_names=("dp",))
    assert mesh.device_type == "cuda" and mesh["dp"].size() == 1


def mesh_without_a_world():
    with _environment(MASTER_PORT="0", LOCAL_RANK="0"):
        assert dist.device_mesh.init_device_mesh("cuda", (1,)).get_rank() == 0


def distributed_tensor():
    from torch.distributed.tensor import Replicate, Shard, distribute_tensor

    _world()
    mesh = dist.init_device_mesh("cuda", (1,))
    x = distribute_tensor(torch.ones(4, 2), mesh, [Shard(0)])
    assert x.is_cuda and x.redistribute(placements=[Replicate()]).to_local().sum().item() == 8


def data_parallel():
    _world()
    model = DistributedDataParallel(nn.Linear(2, 1).cuda(), device_ids=[0], output_device=0)
    model(torch.ones(1, 2).cuda()).sum().backward()
    assert model.module.weight.grad.tolist() == [[1, 1]]


def data_parallel_on_the_current_device():
    _world()
    model = DistributedDataParallel(nn.Linear(2, 1).to("cuda"), device_ids=[torch.cuda.current_device()])
    assert model(torch.ones(1, 2)).is_cuda


def data_parallel_without_sync():
    _world()
    model = DistributedDataParallel(nn.Linear(2, 1).cuda(), device_ids=[torch.device("cuda:0")])
    with model.no_sync():
        model(torch.ones(1, 2, device="cuda")).sum().backward()
    assert model.module.bias.grad.is_cuda


def fully_sharded():
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    _world()
    model = fully_shard(nn.Linear(2, 2).cuda(), mp_policy=MixedPrecisionPolicy(param_dtype=torch.bfloat16))
    output = model(torch.ones(1, 2, device="cuda"))
    output.sum().backward()
    assert output.dtype is torch.bfloat16 and model.weight.grad.to_local().is_cuda


def fully_sharded_of_old():
    from torch.distributed.fsdp import FullyShardedDataParallel

    _world()
    model = FullyShardedDataParallel(nn.Linear(2, 2), device_id=torch.cuda.current_device())
    assert model(torch.ones(1, 2, device="cuda")).is_cuda


def synchronized_batch_norm():
    _world()
    module = nn.SyncBatchNorm.convert_sync_batchnorm(nn.BatchNorm1d(2)).cuda()
    assert module(torch.randn(4, 2, device="cuda")).is_cuda


def distributed_checkpoint():
    import torch.distributed.checkpoint as dcp

    _world()
    with tempfile.TemporaryDirectory() as folder:
        dcp.save({"x": torch.ones(2, device="cuda")}, checkpoint_id=folder)
        state = {"x": torch.zeros(2, device="cuda")}
        dcp.load(state, checkpoint_id=folder)
    assert state["x"].tolist() == [1, 1]


EXPRESSIONS = {
    "nccl_is_available": lambda: dist.is_nccl_available(),
    "nccl_has_a_version": lambda: torch.cuda.nccl.version() >= (2, 0),
}
