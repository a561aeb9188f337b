"""Operators, each as a function of float32 tensors, in the groups of the report."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

Function = Callable[..., Any]

# a, b: (4, 6); positive: (4, 6); square: (5, 5), symmetric and positive definite; image: (2, 3, 8, 8);
# tokens: (2, 7) integers below 10; table: (10, 6); sequence: (2, 7, 8)
OPERATORS: dict[str, dict[str, Function]] = {
    "elementwise": {
        "add": lambda a, b: a + b,
        "addcmul": lambda a, b: torch.addcmul(a, a, b, value=0.5),
        "clamp": lambda a: a.clamp(-0.5, 0.5),
        "cos": lambda a: torch.cos(a),
        "div": lambda a, positive: a / positive,
        "erf": lambda a: torch.erf(a),
        "exp": lambda a: torch.exp(a),
        "lerp": lambda a, b: torch.lerp(a, b, 0.3),
        "log1p": lambda positive: torch.log1p(positive),
        "maximum": lambda a, b: torch.maximum(a, b),
        "mul": lambda a, b: a * b,
        "pow": lambda positive: positive**1.5,
        "reciprocal": lambda positive: positive.reciprocal(),
        "rsqrt": lambda positive: positive.rsqrt(),
        "sigmoid": lambda a: torch.sigmoid(a),
        "sign": lambda a: torch.sign(a),
        "sqrt": lambda positive: positive.sqrt(),
        "tanh": lambda a: torch.tanh(a),
        "where": lambda a, b: torch.where(a > b, a, b),
    },
    "reductions": {
        "amax": lambda a: a.amax(1),
        "argmax": lambda a: a.argmax(1),
        "cumsum": lambda a: a.cumsum(1),
        "logsumexp": lambda a: a.logsumexp(1),
        "mean": lambda a: a.mean(0),
        "norm": lambda a: torch.linalg.vector_norm(a, dim=1),
        "prod": lambda positive: positive.prod(1),
        "std": lambda a: a.std(1),
        "sum": lambda a: a.sum((0, 1)),
        "var_mean": lambda a: torch.var_mean(a, 1)[0],
    },
    "matrices": {
        "addmm": lambda a, b, square: torch.addmm(square[:4, :4], a, b.t()),
        "baddbmm": lambda sequence: torch.baddbmm(sequence[:, :, :7], sequence, sequence.mT),
        "bmm": lambda sequence: sequence @ sequence.mT,
        "cholesky": lambda square: torch.linalg.cholesky(square),
        "einsum": lambda a, b: torch.einsum("ij,kj->ik", a, b),
        "inverse": lambda square: torch.linalg.inv(square),
        "matmul": lambda a, b: a @ b.t(),
        "solve": lambda square: torch.linalg.solve(square, square[:, :2]),
        "triu": lambda square: square.triu(1),
    },
    "shapes and indices": {
        "cat": lambda a, b: torch.cat([a, b], 1),
        "flip": lambda a: a.flip(1),
        "gather": lambda a, tokens: a.gather(1, tokens[:1, :4].clamp(max=5)),
        "index_select": lambda table, tokens: table.index_select(0, tokens[0]),
        "masked_fill": lambda a: a.masked_fill(a > 0, 2.0),
        "nonzero": lambda a: (a > 0).nonzero(),
        "pad": lambda image: F.pad(image, (1, 1, 1, 1), mode="reflect"),
        "permute": lambda image: image.permute(0, 2, 3, 1).contiguous(),
        "roll": lambda a: a.roll(2, 1),
        "scatter_add": lambda a, tokens: torch.zeros_like(a).scatter_add(
            1, tokens[:, :6].clamp(max=5), a[:2]
        ),
        "sort": lambda a: a.sort(1).values,
        "stack": lambda a, b: torch.stack([a, b]),
        "topk": lambda a: a.topk(3).values,
        "unique": lambda tokens: tokens.unique(),
    },
    "networks": {
        "avg_pool2d": lambda image: F.avg_pool2d(image, 2),
        "batch_norm": lambda image: F.batch_norm(image, None, None, training=True),
        "conv2d": lambda image: F.conv2d(image, image[:, :, :3, :3], padding=1),
        "conv_transpose2d": lambda image: F.conv_transpose2d(image, image.transpose(0, 1)[:, :, :2, :2]),
        "cross_entropy": lambda table, tokens: F.cross_entropy(table[:7], tokens[0] % 6, label_smoothing=0.1),
        "embedding": lambda table, tokens: F.embedding(tokens, table),
        "gelu": lambda a: F.gelu(a),
        "group_norm": lambda image: F.group_norm(image, 3),
        "interpolate": lambda image: F.interpolate(image, scale_factor=2, mode="bilinear"),
        "layer_norm": lambda a: F.layer_norm(a, (6,)),
        "linear": lambda a, b: F.linear(a, b),
        "log_softmax": lambda a: F.log_softmax(a, 1),
        "max_pool2d": lambda image: F.max_pool2d(image, 2),
        "mse_loss": lambda a, b: F.mse_loss(a, b),
        "rms_norm": lambda a: F.rms_norm(a, (6,)),
        "scaled_dot_product_attention": lambda sequence: F.scaled_dot_product_attention(
            sequence, sequence, sequence, is_causal=True
        ),
        "silu": lambda a: F.silu(a),
        "softmax": lambda a: F.softmax(a, 1),
    },
}


def inputs() -> dict[str, Tensor]:
    """Return the operators' input tensors by parameter name, on the CPU."""
    generator = torch.Generator().manual_seed(0)

    def normal(*shape: int) -> Tensor:
        return torch.randn(shape, generator=generator)

    square = normal(5, 5)
    return {
        "a": normal(4, 6),
        "b": normal(4, 6),
        "positive": torch.rand((4, 6), generator=generator) + 0.5,
        "square": square @ square.t() + 5 * torch.eye(5),
        "image": normal(2, 3, 8, 8),
        "tokens": torch.randint(10, (2, 7), generator=generator),
        "table": normal(10, 6),
        "sequence": normal(2, 7, 8),
    }
