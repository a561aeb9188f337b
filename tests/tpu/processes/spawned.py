"""Two processes of `torch.multiprocessing.spawn`, which get their rank as an argument alone."""

import os
import sys

import torch
import torch.distributed as dist
import torch.multiprocessing as mp


def work(rank, size, store):
    torch.cuda.set_device(rank)
    dist.init_process_group("nccl", init_method=f"file://{store}", rank=rank, world_size=size)
    x = torch.full((3,), rank + 1.0, device="cuda")
    dist.all_reduce(x)
    assert x.tolist() == [3, 3, 3]
    assert torch.cuda.current_device() == rank == int(os.environ["LOCAL_RANK"])
    try:
        torch.cuda.set_device(1 - rank)
    except ValueError as error:
        refusal = str(error)
    assert refusal == f"cuda:{1 - rank} is another process's TPU: this process has cuda:{rank} alone"
    dist.destroy_process_group()


if __name__ == "__main__":
    assert torch.cuda.is_available()
    mp.spawn(work, args=(2, sys.argv[1]), nprocs=2)
    print("done")
