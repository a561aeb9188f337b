"""Prints losses of DDP, FSDP 1 and 2 and tensor parallel by two processes: `training.py cuda`.

`training.py cpu` prints those of DDP instead of FSDP's, which shards the same computation.
"""

import os
import sys

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FullyShardedDataParallel, fully_shard
from torch.distributed.tensor.parallel import ColwiseParallel, RowwiseParallel, parallelize_module
from torch.nn.parallel import DistributedDataParallel

TYPE = sys.argv[1]
RANK = int(os.environ["LOCAL_RANK"])
DEVICE = torch.device(TYPE, RANK) if TYPE == "cuda" else torch.device(TYPE)
if TYPE == "cuda":
    torch.cuda.set_device(RANK)
dist.init_process_group("nccl" if TYPE == "cuda" else "gloo")


def data_parallel(model):
    return DistributedDataParallel(model, device_ids=[RANK] if TYPE == "cuda" else None)


def sharded(model):
    if TYPE == "cpu":
        return data_parallel(model)
    for layer in (model[0], model[2], model):
        fully_shard(layer, mesh=init_device_mesh(TYPE, (2,)))
    return model


def sharded_first(model):
    return data_parallel(model) if TYPE == "cpu" else FullyShardedDataParallel(model, device_id=DEVICE)


def tensor_parallel(model):
    plan = {"0": ColwiseParallel(), "2": RowwiseParallel()}
    return parallelize_module(model, init_device_mesh(TYPE, (2,)), plan)


def losses(wrap, data):
    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.ReLU(), torch.nn.Linear(16, 2))
    model = wrap(model.to(DEVICE))
    optimizer = torch.optim.AdamW(model.parameters(), 0.05)
    for step in range(3):
        loss = model(data + step).pow(2).mean()
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        yield loss.item()


for wrap in (data_parallel, sharded, sharded_first, tensor_parallel):
    shift = 0 if wrap is tensor_parallel else RANK
    data = torch.linspace(-1, 1, 32).view(4, 8).to(DEVICE) + shift
    total = torch.tensor(list(losses(wrap, data)))
    if RANK == 0:
        print(*total.tolist(), sep="\n", flush=True)
dist.destroy_process_group()
