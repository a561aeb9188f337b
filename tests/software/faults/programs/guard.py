"""Trains with a scaler of the gradients, which passes over a step whose gradients are not finite."""

import torch

torch.manual_seed(0)
model = torch.nn.Linear(8, 8, device="cuda")
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
for step in range(5):
    inputs = torch.full((4, 8), 0.5, device="cuda")
    optimizer.zero_grad()
    scaler.scale(model(inputs).square().mean()).backward()
    scaler.step(optimizer)
    scaler.update()
    print(step, scaler.get_scale())
print(all(bool(parameter.isfinite().all()) for parameter in model.parameters()))
