"""What each rank of torchrun does: steps of DDP, with a checkpoint after each, from the last one on."""

import os
import pathlib
import sys

import torch
from torch import distributed
from torch.nn.parallel import DistributedDataParallel

folder = pathlib.Path(sys.argv[1])
rank = int(os.environ["RANK"])
torch.cuda.set_device(int(os.environ["LOCAL_RANK"]))
distributed.init_process_group("nccl")
torch.manual_seed(0)
model = DistributedDataParallel(torch.nn.Linear(4, 4).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
file, first = folder / "checkpoint.pt", 0
if file.exists():
    saved = torch.load(file)
    model.module.load_state_dict(saved["model"])
    first = saved["step"]
for step in range(first, 4):
    torch.manual_seed(10 * step + rank)
    optimizer.zero_grad()
    loss = model(torch.rand(3, 4).cuda()).square().mean()
    loss.backward()
    optimizer.step()
    if rank == 0:
        torch.save({"model": model.module.state_dict(), "step": step + 1}, folder / "new.pt")
        (folder / "new.pt").rename(file)
    distributed.barrier()
distributed.all_reduce(loss)
attempt = os.environ["TORCHELASTIC_RESTART_COUNT"]
if rank == 0:
    (folder / "result").write_text(f"{attempt} {first} {loss.item()!r}")
distributed.destroy_process_group()
