"""The versions of the libraries that a build for CUDA links, by which programs branch."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import torch

from morph.journal import Journal

CUDNN = 92000  # 9.20.0, which torch 2.13's own distributions for CUDA require
RUNTIME = 13000


def names() -> dict[str, Any]:
    """Gives the names of ``torch._C``, with what each is."""
    return {
        "_has_cudnn": True,
        "_cudnn": cudnn(),
        "_cuda_getCompiledVersion": lambda: RUNTIME,
    }


def cudnn() -> SimpleNamespace:
    """Makes ``torch._C._cudnn``."""
    return SimpleNamespace(
        is_cuda=True,
        getCompileVersion=_version,
        getRuntimeVersion=_version,
        getVersionInt=lambda: CUDNN,
    )


def place(journal: Journal) -> None:
    """Gives cuDNN to ``torch.backends.cudnn``, which has looked for it when torch was imported."""
    module: Any = torch.backends.cudnn.version.__globals__
    for name, value in {"_cudnn": cudnn(), "_init": lambda: True, "__cudnn_version": CUDNN}.items():
        journal.set_item(module, name, value)


def _version() -> tuple[int, int, int]:
    return CUDNN // 10000, CUDNN // 100 % 100, CUDNN % 100
