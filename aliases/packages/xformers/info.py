"""What ``python -m xformers.info`` prints: the operators, and whether they can be used."""

from __future__ import annotations

import torch

from . import __version__, ops  # noqa: F401  (which registers the operators)
from .ops.common import OPERATORS_REGISTRY


def get_features_status() -> dict[str, str]:
    """Return ``available`` or ``unavailable`` for each operator."""
    words = {True: "available", False: "unavailable"}
    return {
        f"{each.OPERATOR_CATEGORY}.{each.NAME}": words[each.is_available()] for each in OPERATORS_REGISTRY
    }


def print_info() -> None:
    """Print the operators, and what torch sees of the device."""
    print(f"xFormers {__version__}")
    features = {**get_features_status(), "pytorch.version": torch.__version__}
    features["pytorch.cuda"] = "available" if torch.cuda.is_available() else "not available"
    if torch.cuda.is_available():
        features["gpu.compute_capability"] = ".".join(map(str, torch.cuda.get_device_capability()))
        features["gpu.name"] = torch.cuda.get_device_name()
    features["build.info"] = "served by morph"
    for name, status in features.items():
        print(f"{name + ':':<50} {status}")


if __name__ == "__main__":
    print_info()
