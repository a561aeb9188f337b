"""The served classifier, ported by hand to one backend without a server."""
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

torch.manual_seed(0)
images, labels = load_digits(return_X_y=True)
images = (torch.tensor(images, dtype=torch.float32) / 16).to(args.device)
labels = torch.tensor(labels).to(args.device)
model = nn.Sequential(nn.Linear(64, 32), nn.ReLU(), nn.Linear(32, 10)).to(args.device)
optimizer = torch.optim.Adam(model.parameters(), lr=0.01)
for _ in range(60):
    loss = F.cross_entropy(model(images[:1500]), labels[:1500])
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
accuracy = (model(images[1500:]).argmax(1) == labels[1500:]).float().mean().item()
print(json.dumps({"loss": loss.item(), "accuracy": 100 * accuracy}))
