"""Distributed data parallel training on the digits: torchrun --nproc-per-node 2 ddp.py."""
import argparse
import json
import os
import tempfile

import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.nn.parallel import DistributedDataParallel as DDP
from torch.utils.data import DataLoader, TensorDataset
from torch.utils.data.distributed import DistributedSampler


def setup():
    local_rank = int(os.environ["LOCAL_RANK"])
    torch.cuda.set_device(local_rank)
    dist.init_process_group("nccl")
    return dist.get_rank(), dist.get_world_size(), local_rank


def load_data(rank, world_size, batch_size):
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float32) / 16
    labels = torch.tensor(labels)
    train, test = TensorDataset(images[:1500], labels[:1500]), TensorDataset(images[1500:], labels[1500:])
    train_sampler = DistributedSampler(train, num_replicas=world_size, rank=rank, shuffle=True, seed=3)
    test_sampler = DistributedSampler(test, num_replicas=world_size, rank=rank, shuffle=False)
    train_loader = DataLoader(train, batch_size=batch_size, sampler=train_sampler, pin_memory=True)
    return train_loader, train_sampler, DataLoader(test, batch_size=batch_size, sampler=test_sampler)


def train(model, loader, sampler, optimizer, epochs):
    for epoch in range(epochs):
        sampler.set_epoch(epoch)
        for data, target in loader:
            data, target = data.cuda(non_blocking=True), target.cuda(non_blocking=True)
            optimizer.zero_grad()
            loss = F.cross_entropy(model(data), target)
            loss.backward()
            optimizer.step()


def check_gradients(model, world_size):
    """Check that every rank has the same gradients after backward."""
    for name, parameter in model.named_parameters():
        grads = [torch.empty_like(parameter.grad) for _ in range(world_size)]
        dist.all_gather(grads, parameter.grad)
        assert all(torch.equal(grad, grads[0]) for grad in grads), f"{name}: gradients differ"


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    metrics = torch.zeros(3, device="cuda")
    for data, target in loader:
        data, target = data.cuda(), target.cuda()
        output = model(data)
        metrics[0] += F.cross_entropy(output, target, reduction="sum")
        metrics[1] += (output.argmax(1) == target).sum()
        metrics[2] += target.numel()
    dist.all_reduce(metrics, op=dist.ReduceOp.SUM)
    loss, correct, count = metrics.tolist()
    return loss / count, 100.0 * correct / count


def reload(model, path, rank, local_rank):
    """Save on rank 0 from cuda:0 and load on every rank onto its own device."""
    if rank == 0:
        torch.save(model.module.state_dict(), path)
    dist.barrier()
    state = torch.load(path, map_location={"cuda:0": "cuda:%d" % local_rank})
    assert all(value.is_cuda and value.get_device() == local_rank for value in state.values())
    fresh = build_model().to(local_rank)
    fresh.load_state_dict(state)
    dist.barrier()
    return DDP(fresh, device_ids=[local_rank])


def build_model():
    return nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 10))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=10)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--checkpoint", default=os.path.join(tempfile.gettempdir(), "digits_ddp.pt"))
    args = parser.parse_args()

    rank, world_size, local_rank = setup()
    torch.manual_seed(7 + rank)  # DDP broadcasts the parameters of rank 0
    model = DDP(build_model().cuda(local_rank), device_ids=[local_rank], output_device=local_rank)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    train_loader, sampler, test_loader = load_data(rank, world_size, args.batch_size)
    train(model, train_loader, sampler, optimizer, args.epochs)
    check_gradients(model, world_size)
    model = reload(model, args.checkpoint, rank, local_rank)
    loss, accuracy = evaluate(model, test_loader)
    if rank == 0:
        print(json.dumps({"loss": loss, "accuracy": accuracy, "world_size": world_size}), flush=True)
    dist.barrier(device_ids=[local_rank])
    dist.destroy_process_group()


if __name__ == "__main__":
    main()
