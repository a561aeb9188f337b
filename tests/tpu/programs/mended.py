"""What torch_tpu or XLA's compiler for the CPU computes otherwise, or not at all, without morph."""

import sys

import torch
import torch.nn.functional as F
from torch.nn.attention import SDPBackend, sdpa_kernel

DEVICE = sys.argv[1]
ROWS = torch.linspace(0.5, 2, 12).reshape(4, 3)
INDEX, STARTS = torch.tensor([0, 2, 2, 3], device=DEVICE), torch.tensor([0, 1], device=DEVICE)
COUNTS = torch.tensor([1, 2, 0, 3], device=DEVICE)
DIFFERENTIABLE = (
    lambda x: x.cumsum(0),
    lambda x: x.cumprod(1),
    lambda x: x.cummax(0)[0],
    lambda x: x.cummin(1)[0],
    lambda x: x.logcumsumexp(1),
    lambda x: x.repeat_interleave(COUNTS, 0),
    lambda x: F.embedding_bag(
        INDEX, x, STARTS, mode="sum", per_sample_weights=torch.ones_like(INDEX) * x[0, 0]
    ),
    lambda x: F.embedding_bag(INDEX, x, STARTS, mode="max"),
    lambda x: F.pdist(x[:1]),
    F.pdist,
)


def show(*tensors):
    for each in tensors:
        print(*each.flatten().tolist(), end=" ")


for function in DIFFERENTIABLE:
    leaf = ROWS.clone().to(DEVICE).requires_grad_()
    result = function(leaf)
    result.square().sum().backward()
    show(result, leaf.grad)

x = ROWS.to(DEVICE)
show(torch.cumsum(x, 1, out=torch.empty(0, device=DEVICE)), x.clone().cumsum_(0), (x > 1).cumsum(1))
show(
    *INDEX.unique(return_inverse=True),
    *(each.sort()[0] for each in INDEX.unique(sorted=False, return_counts=True)),
)
with sdpa_kernel(SDPBackend.EFFICIENT_ATTENTION if DEVICE == "cuda" else SDPBackend.MATH):
    show(F.scaled_dot_product_attention(*[x[None, None]] * 3, is_causal=True))

x[1].resize_(2).fill_(-1)
x[2].resize_(3).mul_(2)
x[INDEX[:1], INDEX[:1]] = torch.tensor(9.0)
x.index_fill_(1, INDEX[1:2], torch.tensor(8.0))
show(x, torch.where(x > 1, x, torch.tensor(6.0)), x.new_empty(2).fill_(torch.tensor(7.0)))
