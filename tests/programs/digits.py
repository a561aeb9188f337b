"""Train a small convolutional network on the handwritten digits of scikit-learn."""
import argparse
import json
import os
import random

import torch
import torch.backends.cudnn as cudnn
import torch.nn as nn
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch.cuda.amp import GradScaler, autocast
from torch.utils.data import DataLoader, TensorDataset


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.bn1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.bn2 = nn.BatchNorm2d(32)
        self.dropout = nn.Dropout(0.25)
        self.fc1 = nn.Linear(32 * 4 * 4, 64)
        self.fc2 = nn.Linear(64, 10)

    def forward(self, x):
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.max_pool2d(F.relu(self.bn2(self.conv2(x))), 2)
        x = self.dropout(torch.flatten(x, 1))
        return self.fc2(F.relu(self.fc1(x)))


def parse_args():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--gpu", type=int, default=0)
    parser.add_argument("--checkpoint", default=None, help="file to write after every epoch")
    parser.add_argument("--resume", default=None, help="checkpoint to continue from")
    return parser.parse_args()


def set_seed(seed):
    random.seed(seed)
    torch.manual_seed(seed)
    torch.cuda.manual_seed(seed)
    torch.cuda.manual_seed_all(seed)
    cudnn.benchmark = True
    cudnn.deterministic = False


def load_data(args):
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    labels = torch.tensor(labels, dtype=torch.long)
    train_idx, test_idx = train_test_split(range(len(labels)), test_size=0.2, random_state=0)
    train = TensorDataset(images[train_idx], labels[train_idx])
    test = TensorDataset(images[test_idx], labels[test_idx])
    kwargs = {"num_workers": args.workers, "pin_memory": True}
    train_loader = DataLoader(train, batch_size=args.batch_size, shuffle=True, drop_last=True, **kwargs)
    test_loader = DataLoader(test, batch_size=256, **kwargs)
    return train_loader, test_loader


def train_epoch(model, loader, optimizer, scaler, device):
    model.train()
    start = torch.cuda.Event(enable_timing=True)
    end = torch.cuda.Event(enable_timing=True)
    total = torch.zeros((), device=device)
    start.record()
    for data, target in loader:
        data, target = data.to(device, non_blocking=True), target.cuda(non_blocking=True)
        optimizer.zero_grad(set_to_none=True)
        with autocast():
            output = model(data)
            loss = F.cross_entropy(output, target)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()
        total += loss.detach()
    end.record()
    torch.cuda.synchronize()
    return total.item() / len(loader), start.elapsed_time(end)


@torch.no_grad()
def evaluate(model, loader, device):
    model.eval()
    loss, correct, count = 0.0, 0, 0
    for data, target in loader:
        data, target = data.to(device, non_blocking=True), target.to(device, non_blocking=True)
        with torch.cuda.amp.autocast():
            output = model(data)
        loss += F.cross_entropy(output.float(), target, reduction="sum").item()
        correct += output.argmax(1).eq(target).sum().item()
        count += target.numel()
    return loss / count, 100.0 * correct / count


def save_checkpoint(path, epoch, model, optimizer, scaler):
    torch.save({
        "epoch": epoch + 1,
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "scaler": scaler.state_dict(),
        "rng": torch.get_rng_state(),
        "cuda_rng": torch.cuda.get_rng_state_all(),
    }, path)


def load_checkpoint(path, model, optimizer, scaler, gpu):
    checkpoint = torch.load(path, map_location=f"cuda:{gpu}")
    model.load_state_dict(checkpoint["model"])
    optimizer.load_state_dict(checkpoint["optimizer"])
    scaler.load_state_dict(checkpoint["scaler"])
    torch.set_rng_state(checkpoint["rng"].cpu())
    torch.cuda.set_rng_state_all([state.cpu() for state in checkpoint["cuda_rng"]])
    return checkpoint["epoch"]


def report_memory(device):
    mb = 1024 ** 2
    print(f"memory: {torch.cuda.memory_allocated(device) / mb:.1f} MB allocated, "
          f"{torch.cuda.max_memory_allocated(device) / mb:.1f} MB peak, "
          f"{torch.cuda.memory_reserved(device) / mb:.1f} MB reserved")
    print(torch.cuda.memory_summary(device, abbreviated=True))


def main():
    args = parse_args()
    assert torch.cuda.is_available(), "this program needs a GPU"
    set_seed(args.seed)
    torch.cuda.set_device(args.gpu)
    device = torch.device("cuda", args.gpu)
    properties = torch.cuda.get_device_properties(device)
    major, minor = torch.cuda.get_device_capability(device)
    print(f"{torch.cuda.device_count()} device(s), using {torch.cuda.get_device_name(device)}: "
          f"{properties.total_memory / 1024 ** 3:.1f} GB, "
          f"{properties.multi_processor_count} multiprocessors, capability {major}.{minor}")

    train_loader, test_loader = load_data(args)
    model = Net().cuda()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scaler = GradScaler()
    torch.cuda.reset_peak_memory_stats(device)

    first = 0
    if args.resume and os.path.isfile(args.resume):
        first = load_checkpoint(args.resume, model, optimizer, scaler, args.gpu)
        print(f"resumed from {args.resume} at epoch {first}")

    for epoch in range(first, args.epochs):
        train_loss, milliseconds = train_epoch(model, train_loader, optimizer, scaler, device)
        print(f"epoch {epoch}: train loss {train_loss:.4f}, {milliseconds:.0f} ms, "
              f"scale {scaler.get_scale():.0f}")
        if args.checkpoint:
            save_checkpoint(args.checkpoint, epoch, model, optimizer, scaler)

    loss, accuracy = evaluate(model, test_loader, device)
    report_memory(device)
    torch.cuda.empty_cache()
    print(json.dumps({"loss": loss, "accuracy": accuracy}))


if __name__ == "__main__":
    main()
