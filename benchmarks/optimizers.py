"""morph's implementation of apex's optimizers against torch's own on the same work."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import nn

from benchmarks.pairs import Pair, Work, run

WIDTH, LAYERS = 256, 6
DECAY: dict[str, Any] = {"lr": 1e-6, "weight_decay": 0.01}


def transformer() -> nn.Module:
    """Return an encoder with matrices, vectors and an embedding, on the device."""
    layer = nn.TransformerEncoderLayer(WIDTH, 4, 4 * WIDTH, batch_first=True)
    encoder = nn.TransformerEncoder(layer, LAYERS, enable_nested_tensor=False)
    return nn.Sequential(nn.Embedding(2000, WIDTH), encoder).cuda()


def many_vectors() -> nn.Module:
    """Return a network of many small parameters, where calls cost more than arithmetic."""
    return nn.Sequential(*(nn.Linear(16, 16) for _ in range(100))).cuda()


def step(optimizer: Callable[..., Any], network: Callable[[], nn.Module], **options: Any) -> Work:
    """Return the step of an optimizer for a network with gradients."""
    update: Work = optimizer(with_gradients(network), **options).step
    return update


def clipped_step(optimizer: Callable[..., Any], network: Callable[[], nn.Module], **options: Any) -> Work:
    """Return the same, preceded by clipping the gradients as in LAMB."""
    parameters = with_gradients(network)
    update = optimizer(parameters, **options).step

    def both() -> None:
        nn.utils.clip_grad_norm_(parameters, 1.0)
        update()

    return both


def with_gradients(network: Callable[[], nn.Module]) -> list[nn.Parameter]:
    """Return the parameters of a network, with gradients."""
    torch.manual_seed(0)
    parameters = list(network().parameters())
    for parameter in parameters:
        parameter.grad = torch.randn_like(parameter) / 100
    return parameters


PAIRS: dict[str, tuple[str, dict[str, Any], Callable[..., Work]]] = {
    "FusedAdam": ("AdamW", DECAY, step),
    "FusedSGD": ("SGD", {**DECAY, "momentum": 0.9}, step),
    "FusedAdagrad": ("Adagrad", DECAY, step),
    "FusedLAMB": ("AdamW", DECAY, clipped_step),
    "FusedNovoGrad": ("AdamW", DECAY, step),
}
FUSED = {"FusedAdam": "_fused_adamw_", "FusedSGD": "_fused_sgd_", "FusedAdagrad": "_fused_adagrad_"}
"""torch's kernels, which both sides use where the device has them."""


def optimizers() -> Iterator[Pair]:
    """Yield the optimizers that torch has too, then those closest to its AdamW."""
    from apex import optimizers as apex

    for network in (transformer, many_vectors):
        for ours, (theirs, options, own_step) in PAIRS.items():
            name = f"{ours} / {theirs}, {network.__name__.replace('_', ' ')}"
            own = own_step(getattr(torch.optim, theirs), network, **options, **kind(ours))
            yield name, step(getattr(apex, ours), network, **options), own


def kind(ours: str) -> dict[str, bool]:
    """Return the option for torch's fused kernel where the device has one for both, else for foreach."""
    from apex.kernels.tensor_lists import has_kernel

    device = torch.empty(0, device="cuda").device.type
    fused = ours in FUSED and has_kernel(FUSED[ours], device)
    return {"fused" if fused else "foreach": True}


if __name__ == "__main__":
    run(__doc__, optimizers, rounds=60, seconds=0.03)
