"""Fully sharded training (FSDP2) on the digits: torchrun --nproc-per-node 2 fsdp.py."""
import json
import os

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import FSDPModule, fully_shard
from torch.distributed.tensor import DTensor


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(64) for _ in range(2))
        self.head = nn.Linear(64, 10)

    def forward(self, x):
        for block in self.blocks:
            x = block(x)
        return self.head(x)


def main():
    rank = int(os.environ["RANK"])
    device = torch.device(f"cuda:{int(os.environ['LOCAL_RANK'])}")
    torch.cuda.set_device(device)
    dist.init_process_group(backend="nccl", device_id=device)
    mesh = init_device_mesh("cuda", (dist.get_world_size(),), mesh_dim_names=("dp",))
    assert mesh.size() == dist.get_world_size()

    torch.manual_seed(0)
    model = Model().to(device)
    for block in model.blocks:
        fully_shard(block, mesh=mesh)
    fully_shard(model, mesh=mesh)
    assert isinstance(model, FSDPModule)
    assert all(isinstance(p, DTensor) and p.to_local().is_cuda for p in model.parameters())
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)

    images, labels = load_digits(return_X_y=True)
    images = (torch.tensor(images, dtype=torch.float32) / 16).to(device)
    labels = torch.tensor(labels, device=device)
    order = torch.randperm(1408, generator=torch.Generator().manual_seed(0)).view(-1, 2, 32)
    for _ in range(4):
        for index in order[:, rank].to(device):
            loss = F.cross_entropy(model(images[index]), labels[index])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
    torch.cuda.synchronize()
    weights = sum(p.full_tensor().square().sum() for p in model.parameters())

    with torch.no_grad():
        output = model(images[1408:])
    loss = F.cross_entropy(output, labels[1408:])
    accuracy = 100 * (output.argmax(1) == labels[1408:]).float().mean()
    dist.all_reduce(loss, op=dist.ReduceOp.SUM)
    if rank == 0:
        print(json.dumps({"loss": loss.item() / dist.get_world_size(), "accuracy": accuracy.item(),
                          "weights": weights.item()}), flush=True)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
