"""A training step of a small network: written for CUDA and run under morph, against the hand-ported step."""

from __future__ import annotations

import argparse
import json
import os
from collections.abc import Callable

from morph.verification.measurement.timing import compare


def step(device: str) -> Callable[[], object]:
    """Return a function that takes one training step of a multi-layer perceptron on ``device``."""
    import torch

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(64, 256), torch.nn.ReLU(), torch.nn.Linear(256, 10)).to(
        device
    )
    optimizer = torch.optim.AdamW(model.parameters())
    inputs, labels = torch.randn(128, 64), torch.randint(0, 10, (128,))

    def take() -> float:
        x, y = inputs.to(device), labels.to(device)
        optimizer.zero_grad()
        loss = torch.nn.functional.cross_entropy(model(x), y)
        loss.backward()
        optimizer.step()
        return float(loss)

    return take


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default=os.environ.get("MORPH_BACKEND", "npu"))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    import morph

    morph.activate(arguments.backend)
    result = compare("training step", step("cuda"), step(arguments.backend), rounds=120, seconds=0.02)
    figures = {"cuda_ms": result.cuda / 1e6, "own_ms": result.own / 1e6, "ratio": result.ratio}
    if arguments.json:
        print(json.dumps(figures))
    else:
        print("training step: {cuda_ms:.3f} / {own_ms:.3f} ms, {ratio:.3f}x".format(**figures))


if __name__ == "__main__":
    main()
