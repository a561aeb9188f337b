"""Overlap copies and computation with a side stream, after the data_prefetcher of NVIDIA's examples."""
import json
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch.utils.data import DataLoader, TensorDataset


class DataPrefetcher:
    def __init__(self, loader):
        self.loader = iter(loader)
        self.stream = torch.cuda.Stream()
        self.mean = torch.tensor([4.9]).cuda().view(1, 1)
        self.std = torch.tensor([6.0]).cuda().view(1, 1)
        self.preload()

    def preload(self):
        try:
            self.next_input, self.next_target = next(self.loader)
        except StopIteration:
            self.next_input = None
            self.next_target = None
            return
        with torch.cuda.stream(self.stream):
            assert torch.cuda.current_stream() == self.stream
            self.next_input = self.next_input.cuda(non_blocking=True)
            self.next_target = self.next_target.cuda(non_blocking=True)
            self.next_input = self.next_input.float()
            self.next_input = self.next_input.sub_(self.mean).div_(self.std)

    def next(self):
        torch.cuda.current_stream().wait_stream(self.stream)
        input = self.next_input
        target = self.next_target
        if input is not None:
            input.record_stream(torch.cuda.current_stream())
        if target is not None:
            target.record_stream(torch.cuda.current_stream())
        self.preload()
        return input, target


def fast_collate(batch):
    images = torch.stack([image for image, _ in batch])
    targets = torch.tensor([int(target) for _, target in batch], dtype=torch.int64)
    return images, targets


def main():
    torch.manual_seed(0)
    device = torch.cuda.current_device()
    images, labels = load_digits(return_X_y=True)
    dataset = TensorDataset(torch.tensor(images, dtype=torch.uint8), torch.tensor(labels))
    loader = DataLoader(dataset, batch_size=64, shuffle=True, pin_memory=True, collate_fn=fast_collate)
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)

    copied = torch.cuda.Event(blocking=True)
    begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
    side = torch.cuda.Stream(device=device, priority=-1)
    history = []
    wall = time.perf_counter()
    begin.record()
    for _ in range(10):
        prefetcher = DataPrefetcher(loader)
        input, target = prefetcher.next()
        while input is not None:
            loss = F.cross_entropy(model(input), target)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            input, target = prefetcher.next()
        # read the loss back on a side stream, without holding up the next epoch
        host = torch.empty((), pin_memory=True)
        side.wait_stream(torch.cuda.current_stream(device))
        with torch.cuda.stream(side):
            host.copy_(loss.detach(), non_blocking=True)
            loss.detach().record_stream(side)
            copied.record(side)
        copied.synchronize()
        assert copied.query()
        history.append(host.item())
    end.record(torch.cuda.current_stream())
    end.synchronize()
    wall = 1e3 * (time.perf_counter() - wall)
    assert 0 < begin.elapsed_time(end) < 1.5 * wall, "events must measure the time that passed"
    side.synchronize()
    assert side.query() and torch.cuda.default_stream().query()
    print(f"{begin.elapsed_time(end):.1f} ms on the device, {wall:.1f} ms on the clock")
    print(json.dumps({"loss": history[-1], "first_loss": history[0]}))


if __name__ == "__main__":
    main()
