"""The prefetching pipeline, ported by hand to one backend without streams."""
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
images = (torch.tensor(images, dtype=torch.float32) - 4.9) / 6.0
loader = DataLoader(TensorDataset(images, torch.tensor(labels)), 64, shuffle=True)
model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 10)).to(args.device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9, nesterov=True)
losses = []
for _ in range(10):
    for x, y in loader:
        loss = F.cross_entropy(model(x.to(args.device)), y.to(args.device))
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    losses.append(loss.item())
print(json.dumps({"loss": losses[-1], "first_loss": losses[0]}))
