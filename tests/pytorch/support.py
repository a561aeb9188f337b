"""The tree's test support: the import puts its torch.testing._internal in the installed one's place."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import sys

import torch.testing._internal

TREE = pathlib.Path(os.environ["MORPH_PYTORCH_TREE"])


def _take(file: pathlib.Path) -> None:
    spec = importlib.util.spec_from_file_location(f"torch.testing._internal.{file.stem}", file)
    assert spec
    assert spec.loader
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


INSTALLED = pathlib.Path(torch.testing._internal.__path__[0])
# a release's tests are written for its own torch.testing._internal, which is no public interface
torch.testing._internal.__path__ = [str(TREE / "torch" / "testing" / "_internal")]
for name in ("common_quantized", "common_quantization"):  # 2.6's import what later releases have no more
    _take(INSTALLED / f"{name}.py")
