"""Two ranks whose collectives stop to end; each says what it sees, and the group is made anew."""

import datetime
import os
import sys

import torch
from torch import distributed

rank = int(os.environ["RANK"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))


def reduced():
    tensor = torch.ones(2, device="cuda")
    distributed.all_reduce(tensor)
    torch.cuda.synchronize()
    return tensor.tolist()


distributed.init_process_group("nccl", timeout=datetime.timedelta(seconds=3))
lines = []
for _ in range(3):
    try:
        lines.append(reduced())
    except distributed.DistBackendError as error:
        lines.append("Timed out waiting" if "Timed out waiting" in str(error) else "closed")
distributed.destroy_process_group()
distributed.init_process_group("nccl", init_method=f"file://{sys.argv[1]}", rank=rank, world_size=2)
lines.append(reduced())
print(f"rank {rank}: {lines}\n", end="", flush=True)
distributed.destroy_process_group()
