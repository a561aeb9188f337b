"""The quantisation-aware perceptron, ported by hand to one backend without custom functions."""
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

half = {"cpu": torch.bfloat16, "npu": torch.float16}[args.device]


def linear(layer, x):
    """Apply the layer in half precision with its weight rounded to a grid of 1/64."""
    weight = layer.weight + ((layer.weight * 64).round() / 64 - layer.weight).detach()
    return x.to(half) @ weight.to(half).t() + layer.bias


def forward(x):
    return linear(second, F.relu(linear(first, x)))


torch.manual_seed(0)
images, labels = load_digits(return_X_y=True)
images = (torch.tensor(images, dtype=torch.float32) / 16).to(args.device)
labels = torch.tensor(labels).to(args.device)
first, second = nn.Linear(64, 64).to(args.device), nn.Linear(64, 10).to(args.device)
optimizer = torch.optim.AdamW([*first.parameters(), *second.parameters()], lr=3e-3)
scale = 2.0 ** 10
good = 0
for step in range(300):
    index = torch.randint(1400, (64,)).to(args.device)
    loss = F.cross_entropy(forward(images[index]), labels[index])
    optimizer.zero_grad()
    (loss * scale).backward()
    if step == 50:
        scale, good = scale / 2, 0
        continue
    for parameter in (*first.parameters(), *second.parameters()):
        parameter.grad /= scale
    optimizer.step()
    good += 1
    if good == 100:
        scale, good = scale * 2, 0
with torch.no_grad():
    output = forward(images[1400:])
loss = F.cross_entropy(output, labels[1400:]).item()
accuracy = 100 * (output.argmax(1) == labels[1400:]).float().mean().item()
print(json.dumps({"loss": loss, "accuracy": accuracy, "scale": scale}))
