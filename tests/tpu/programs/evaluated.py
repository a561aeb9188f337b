"""What is evaluated by running statistics, and gradients of what torch composes of other operators."""

import sys

import torch
import torch.nn.functional as F
from torch import nn

device = sys.argv[1]
torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(1, 4, 3), nn.BatchNorm2d(4), nn.ReLU(), nn.Flatten(), nn.Linear(144, 6))
model.append(nn.BatchNorm1d(6, momentum=None)).to(device)
images, labels = torch.randn(16, 1, 8, 8), torch.randint(6, (16,))
optimizer = torch.optim.SGD(model.parameters(), 0.1)
for _ in range(3):
    F.cross_entropy(model(images.to(device)), labels.to(device)).backward()
    optimizer.step()
    optimizer.zero_grad()
for buffer in model.buffers():
    print(buffer.double().sum().item())
print(model.eval()(images.to(device)).pow(2).sum().item())

signal = torch.linspace(-1, 1, 24).view(1, 2, 12).to(device).requires_grad_()
F.avg_pool1d(signal, 3).pow(2).sum().backward()
print(signal.grad.pow(2).sum().item())

table = torch.linspace(-1, 1, 12).view(4, 3).to(device).requires_grad_()
words = torch.tensor([1, 1, 3], device=device)
(gradient,) = torch.autograd.grad(F.embedding(words, table).pow(3).sum(), table, create_graph=True)
gradient.pow(2).sum().backward()
print(table.grad.sum().item())
