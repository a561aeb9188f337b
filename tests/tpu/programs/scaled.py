"""A step in half precision with a GradScaler, and what it does with an overflow; prints losses and scales."""

import sys

import torch
from torch import nn

device = sys.argv[1]
torch.manual_seed(0)
model, x = nn.Linear(6, 2).to(device), torch.randn(5, 6).to(device)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
scaler = torch.amp.GradScaler(device, init_scale=64.0, growth_interval=2)
for factor in (1.0, 1.0, float("inf"), 1.0):
    loss = model(x).square().mean()
    optimizer.zero_grad()
    scaler.scale(loss * factor).backward()
    scaler.step(optimizer)
    scaler.update()
    print(loss.item())
    print(scaler.get_scale())
