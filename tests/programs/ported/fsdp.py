"""The sharded training, ported by hand to one device: the arithmetic is the same."""
import argparse
import json

import torch
import torch.nn.functional as F
from sklearn.datasets import load_digits
from torch import nn

parser = argparse.ArgumentParser()
parser.add_argument("--device", choices=["cpu", "npu"], required=True)
args = parser.parse_args()
if args.device == "npu" and not hasattr(torch, "npu"):
    import torch_npu  # noqa: F401


class Residual(nn.Sequential):
    def forward(self, x):
        return x + super().forward(x)


def residual():
    return Residual(nn.LayerNorm(64), nn.Linear(64, 128), nn.GELU(), nn.Linear(128, 64))


torch.manual_seed(0)
model = nn.Sequential(residual(), residual(), nn.Linear(64, 10)).to(args.device)
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3)
images, labels = load_digits(return_X_y=True)
images = (torch.tensor(images, dtype=torch.float32) / 16).to(args.device)
labels = torch.tensor(labels).to(args.device)
order = torch.randperm(1408, generator=torch.Generator().manual_seed(0)).view(-1, 64).to(args.device)
for _ in range(4):
    for index in order:
        loss = F.cross_entropy(model(images[index]), labels[index])
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
with torch.no_grad():
    output = model(images[1408:])
    weights = sum(p.square().sum() for p in model.parameters()).item()
loss = F.cross_entropy(output, labels[1408:]).item()
accuracy = 100 * (output.argmax(1) == labels[1408:]).float().mean().item()
print(json.dumps({"loss": loss, "accuracy": accuracy, "weights": weights}))
