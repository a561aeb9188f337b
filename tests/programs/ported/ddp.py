"""Distributed data parallel training under torchrun, ported by hand to one backend."""
import argparse
import json
import os

import torch
import torch.distributed as dist
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, DistributedSampler, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--device", choices=["cpu", "npu"], required=True)
args = parser.parse_args()
if args.device == "npu" and not hasattr(torch, "npu"):
    import torch_npu  # noqa: F401

rank = int(os.environ["LOCAL_RANK"])
device = torch.device("cpu")
if args.device == "npu":
    device = torch.device("npu", rank)
    torch.npu.set_device(device)
dist.init_process_group({"cpu": "gloo", "npu": "hccl"}[args.device])

images, labels = load_digits(return_X_y=True)
images, labels = torch.tensor(images, dtype=torch.float32) / 16, torch.tensor(labels)
train = TensorDataset(images[:1500], labels[:1500])
sampler = DistributedSampler(train, shuffle=True, seed=3)

torch.manual_seed(7)
network = nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10)).to(device)
model = DistributedDataParallel(network)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
for epoch in range(10):
    sampler.set_epoch(epoch)
    for x, y in DataLoader(train, 32, sampler=sampler):
        optimizer.zero_grad()
        F.cross_entropy(model(x.to(device)), y.to(device)).backward()
        optimizer.step()

if rank == 0:
    with torch.no_grad():
        # DistributedSampler repeats the first samples until every rank has the same number
        padded = list(range(1500, 1797)) + [1500] * (297 % dist.get_world_size())
        output, target = network(images[padded].to(device)), labels[padded].to(device)
    loss = F.cross_entropy(output, target).item()
    accuracy = 100 * (output.argmax(1) == target).float().mean().item()
    print(json.dumps({"loss": loss, "accuracy": accuracy, "world_size": dist.get_world_size()}), flush=True)
dist.barrier()
dist.destroy_process_group()
os._exit(0)  # a thread of gloo's that asks for the lock of an ending Python aborts the process (torch 2.13)
