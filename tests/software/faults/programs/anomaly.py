"""Looks for NaN with torch's own detection, in one operator of the backward pass."""

import torch

x = torch.rand(4, 4, device="cuda", requires_grad=True)
with torch.autograd.detect_anomaly(check_nan=True):
    loss = x.exp().tanh().sum()
    try:
        loss.backward()
        print("went on")
    except RuntimeError as error:
        print(error)
