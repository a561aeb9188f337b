"""Two ranks note in one file when each has begun a step, without waiting for one another."""

import os
import sys

import torch

rank = int(os.environ["RANK"])
parameter = torch.nn.Parameter(torch.ones(1, device=f"cuda:{rank}"))
optimizer = torch.optim.SGD([parameter])
parameter.grad = torch.ones_like(parameter)
torch.distributed.init_process_group("nccl")
torch.distributed.barrier()
for step in range(1, 4):
    optimizer.step()
    with open(sys.argv[1], "a") as file:
        file.write(f"{rank}{step} ")
torch.distributed.destroy_process_group()
