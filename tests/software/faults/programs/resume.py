"""Writes a checkpoint after each step, and goes on from it when it is started again."""

import pathlib
import sys

import torch

file = pathlib.Path(sys.argv[1])
torch.manual_seed(0)
model = torch.nn.Linear(4, 4, device="cuda")
optimizer = torch.optim.Adam(model.parameters())
first = 0
if file.exists():
    saved = torch.load(file)
    model.load_state_dict(saved["model"])
    optimizer.load_state_dict(saved["optimizer"])
    first = saved["step"]
for step in range(first, 5):
    torch.manual_seed(step)
    optimizer.zero_grad()
    loss = model(torch.rand(3, 4, device="cuda")).square().mean()
    loss.backward()
    optimizer.step()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "step": step + 1}, file)
print(first, loss.item())
