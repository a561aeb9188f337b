"""Prints the type that autocast computes each of these in."""

import torch
import torch.nn.functional as F

half = torch.ones(4, 4, device="cuda", dtype=torch.bfloat16)
whole = torch.ones(4, 4, device="cuda")
image = half.view(1, 1, 4, 4)
weight = torch.ones(4, device="cuda")
CALLS = {
    "mm": lambda: whole @ whole,
    "softmax": lambda: half.softmax(-1),
    "softmax of a dtype": lambda: half.softmax(-1, dtype=torch.bfloat16),
    "log_softmax": lambda: F.log_softmax(half, -1),
    "layer_norm": lambda: F.layer_norm(half, (4,), weight, weight),
    "group_norm": lambda: F.group_norm(half, 2),
    "exp": half.exp,
    "log": half.log,
    "pow": lambda: half**2,
    "rsqrt": half.rsqrt,
    "sum": half.sum,
    "cumsum": lambda: half.cumsum(0),
    "norm": half.norm,
    "vector_norm": lambda: torch.linalg.vector_norm(half),
    "logsumexp": lambda: half.logsumexp(0),
    "interpolate": lambda: F.interpolate(image, scale_factor=2),
    "addcmul": lambda: torch.addcmul(half, half, whole),
    "addcmul of halves": lambda: torch.addcmul(half, half, half),
    "relu": half.relu,
    "add": lambda: half + half,
    "cross_entropy": lambda: F.cross_entropy(half, torch.zeros(4, device="cuda", dtype=torch.long)),
    "mse": lambda: F.mse_loss(half, half),
}
with torch.autocast("cuda", torch.bfloat16):
    for name, call in CALLS.items():
        print(name, call().dtype)
leaf = whole.detach().requires_grad_()
with torch.autocast("cuda", torch.bfloat16):
    (leaf @ leaf).softmax(-1).pow(2).sum().backward()
print(leaf.grad.dtype)
