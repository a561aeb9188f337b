"""Two processes that use the nccl backend."""

import socket
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.platforms import SIMULATED, Platform

on_platforms = pytest.mark.platforms("cpu", "npu", "simulated-npu", "simulated-xpu")

BEGINNING = """
import os
import torch
import torch.distributed as dist

rank = int(os.environ["RANK"])
index = rank % torch.cuda.device_count()
torch.cuda.set_device(index)
device = torch.device("cuda", index)
"""

COLLECTIVES = """
dist.init_process_group(BACKEND)
assert dist.is_nccl_available() and dist.is_backend_available("nccl")
assert dist.get_backend_config().count(dist.get_default_backend_for_device("cuda")) >= 1
total = torch.full((2,), rank + 1.0, device="cuda")
dist.all_reduce(total)
assert total.tolist() == [3, 3]
dist.barrier(device_ids=[index])
parts = [torch.empty(1, device="cuda") for _ in range(2)]
dist.all_gather(parts, torch.full((1,), float(rank), device="cuda"))
assert [part.item() for part in parts] == [0, 1]
message = torch.full((2,), float(rank), device="cuda")
work = dist.isend(message, 1) if rank == 0 else dist.irecv(message, 0)
work.wait()
assert message.tolist() == [0, 0]
sent = [{"rank": rank}]
dist.broadcast_object_list(sent, src=0, device="cuda")
assert sent == [{"rank": 0}]
gathered = [None, None]
dist.all_gather_object(gathered, rank)
assert gathered == [0, 1]
group = dist.new_group([0, 1], backend="nccl")
dist.all_reduce(total, group=group)
assert total.tolist() == [6, 6]
"""

MESHES = """
dist.init_process_group("nccl", device_id=device)
from torch.distributed.device_mesh import DeviceMesh, init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor import Shard, distribute_tensor
from torch.nn.parallel import DistributedDataParallel

mesh = init_device_mesh("cuda", (2,), mesh_dim_names=("data",))
assert mesh.device_type == DeviceMesh("cuda", [0, 1]).device_type == device.type
sharded = distribute_tensor(torch.arange(4.0).cuda(), mesh, [Shard(0)])
assert sharded.is_cuda and (sharded * 2).full_tensor().tolist() == [0, 2, 4, 6]

def step(wrap):
    torch.manual_seed(0)
    model = wrap(torch.nn.Linear(4, 1, bias=False).cuda())
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    model(torch.full((1, 4), float(rank), device="cuda")).sum().backward()
    optimizer.step()
    return model(torch.ones(1, 4, device="cuda")).item()

def shifted(model):
    # all ranks are to get what the first has
    with torch.no_grad():
        model.weight.add_(rank)
    return model

torch.manual_seed(0)
expected = torch.nn.Linear(4, 1, bias=False).weight.sum().item() - 0.2
for wrap in (
    lambda model: DistributedDataParallel(model, device_ids=[index], output_device=index),
    lambda model: DistributedDataParallel(model, device_ids=[device]),
    lambda model: fully_shard(model, mesh=mesh) and model,
    lambda model: FullyShardedDataParallel(model, device_id=index),
    lambda model: FullyShardedDataParallel(shifted(model), device_id=index, sync_module_states=True),
):
    torch.testing.assert_close(step(wrap), expected)
"""

# 2**-40 is lost in float32
DOUBLES = """
dist.init_process_group("nccl")
small = 2.0 ** -40

def part(*values):
    return torch.tensor(values, dtype=torch.float64).cuda()

def reduced(operation):
    own = part(rank + 1 + small, 2.0)
    assert dist.all_reduce(own, op=operation) is None
    return own.tolist()

kinds = dist.ReduceOp
assert reduced(kinds.SUM) == [3 + 2 * small, 4]
assert reduced(kinds.AVG) == [1.5 + small, 2]
assert reduced(kinds.MIN) == [1 + small, 2]
assert reduced(kinds.MAX) == [2 + small, 2]
assert reduced(kinds.PRODUCT) == [(1 + small) * (2 + small), 4]

later = part(rank + small)
work = dist.all_reduce(later, async_op=True)
assert work.wait() and work.is_completed()
assert later.tolist() == [1 + 2 * small]

to_first = part(1 + small)
dist.reduce(to_first, 0)
assert rank != 0 or to_first.tolist() == [2 + 2 * small]
assert rank != 1 or to_first.tolist() == [1 + small]

mine = part(0.0)
dist.reduce_scatter_tensor(mine, part(1 + small, 5))
assert mine.tolist() == [[2 + 2 * small], [10]][rank]
dist.reduce_scatter(mine, [part(3 + small), part(7)])
assert mine.tolist() == [[6 + 2 * small], [14]][rank]

model = torch.nn.Linear(2, 1, bias=False, dtype=torch.float64).cuda()
parallel = torch.nn.parallel.DistributedDataParallel(model, device_ids=[index])
parallel(part(rank + small, 1).view(1, 2)).sum().backward()
assert model.weight.grad.tolist() == [[0.5 + small, 1]]
"""

END = """
dist.destroy_process_group()
print("rank", rank, "is done", flush=True)
os._exit(0)  # a thread of gloo's may abort the end of the interpreter; see tests/platforms.py
"""


def on_two_ranks(platform: Platform, program: str) -> None:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        port = listener.getsockname()[1]

    def run(rank: int) -> str:
        variables = {"RANK": rank, "LOCAL_RANK": rank, "WORLD_SIZE": 2, "LOCAL_WORLD_SIZE": 2}
        variables |= {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": port, "OMP_NUM_THREADS": 1}
        environment = {name: str(value) for name, value in variables.items()}
        return platform.run(BEGINNING + program + END, environment=environment, timeout=100).stdout

    with ThreadPoolExecutor() as pool:
        outputs = list(pool.map(run, range(2)))
    assert ["rank 0 is done" in outputs[0], "rank 1 is done" in outputs[1]] == [True, True]


@on_platforms
@pytest.mark.long_on(*SIMULATED)
@pytest.mark.parametrize("backend", ['"nccl"', pytest.param('"cpu:gloo,cuda:nccl"', marks=pytest.mark.long)])
def test_collectives(platform: Platform, backend: str) -> None:
    on_two_ranks(platform, COLLECTIVES.replace("BACKEND", backend))


@pytest.mark.long
@on_platforms
def test_meshes_and_parallel_modules(platform: Platform) -> None:
    on_two_ranks(platform, MESHES)


@pytest.mark.long
@pytest.mark.platforms("cpu", "npu")
def test_reductions_in_double_precision(platform: Platform) -> None:
    on_two_ranks(platform, DOUBLES)
