"""The DataParallel classifier, ported by hand to one device: the arithmetic is the same."""
import argparse
import json

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

parser = argparse.ArgumentParser()
parser.add_argument("--device", choices=["cpu", "npu"], required=True)
args = parser.parse_args()
if args.device == "npu" and not hasattr(torch, "npu"):
    import torch_npu  # noqa: F401

torch.manual_seed(0)
images, labels = load_digits(return_X_y=True)
images = torch.tensor(images, dtype=torch.float32).view(-1, 1, 8, 8) / 16 - 0.3
labels = torch.tensor(labels)
net = nn.Sequential(
    nn.Conv2d(1, 16, 3, padding=1), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(256, 10))
net.to(args.device)
optimizer = torch.optim.SGD(net.parameters(), lr=0.1, momentum=0.9, weight_decay=5e-4)
scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=8)
for _ in range(8):
    for x, y in DataLoader(TensorDataset(images[:1400], labels[:1400]), 56, shuffle=True):
        optimizer.zero_grad()
        F.cross_entropy(net(x.to(args.device)), y.to(args.device)).backward()
        optimizer.step()
    scheduler.step()
with torch.no_grad():
    output, target = net(images[1400:].to(args.device)), labels[1400:].to(args.device)
accuracy = 100 * (output.argmax(1) == target).float().mean().item()
print(json.dumps({"loss": F.cross_entropy(output, target).item(), "accuracy": accuracy}))
