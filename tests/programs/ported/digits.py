"""The digits classifier, ported by hand to one backend."""
import argparse
import json

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--device", choices=["cpu", "npu"], required=True)
parser.add_argument("--epochs", type=int, default=6)
args = parser.parse_args()
if args.device == "npu" and not hasattr(torch, "npu"):
    import torch_npu  # noqa: F401

amp_dtype = {"cpu": torch.bfloat16, "npu": torch.float16}[args.device]


class Classifier(nn.Sequential):
    def __init__(self):
        super().__init__(
            nn.Conv2d(1, 16, 3, padding=1), nn.BatchNorm2d(16), nn.ReLU(),
            nn.Conv2d(16, 32, 3, padding=1), nn.BatchNorm2d(32), nn.ReLU(),
            nn.MaxPool2d(2), nn.Flatten(), nn.Dropout(0.25),
            nn.Linear(512, 64), nn.ReLU(), nn.Linear(64, 10),
        )


def loaders():
    images, labels = load_digits(return_X_y=True)
    images = torch.tensor(images, dtype=torch.float32).reshape(-1, 1, 8, 8) / 16
    labels = torch.tensor(labels, dtype=torch.long)
    train, test = train_test_split(range(len(labels)), test_size=0.2, random_state=0)
    train, test = TensorDataset(images[train], labels[train]), TensorDataset(images[test], labels[test])
    return (
        DataLoader(train, 64, shuffle=True, drop_last=True, num_workers=2),
        DataLoader(test, 256, num_workers=2),
    )


torch.manual_seed(1)
if args.device == "npu":
    torch.npu.manual_seed_all(1)
train_loader, test_loader = loaders()
model = Classifier().to(args.device)
optimizer = torch.optim.Adam(model.parameters(), lr=2e-3)
scaler = torch.amp.GradScaler(args.device)

for _ in range(args.epochs):
    for images, labels in train_loader:
        images, labels = images.to(args.device), labels.to(args.device)
        optimizer.zero_grad()
        with torch.autocast(args.device, dtype=amp_dtype):
            loss = F.cross_entropy(model(images), labels)
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        scaler.step(optimizer)
        scaler.update()

model.eval()
total, correct, count = 0.0, 0, 0
with torch.no_grad():
    for images, labels in test_loader:
        images, labels = images.to(args.device), labels.to(args.device)
        with torch.autocast(args.device, dtype=amp_dtype):
            output = model(images)
        total += F.cross_entropy(output.float(), labels, reduction="sum").item()
        correct += (output.argmax(1) == labels).sum().item()
        count += len(labels)
print(json.dumps({"loss": total / count, "accuracy": 100 * correct / count}))
