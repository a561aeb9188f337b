"""The idioms in torch_npu's own spelling, as somebody writes them who ports a program by hand."""

import pathlib
import sys
import tempfile
from collections.abc import Iterable

from tests.idioms.outcomes import FOLDER, collect, idioms
from tests.platforms import Platform

SPELLINGS = (("cuda", "npu"), ("CUDA", "NPU"), ("nccl", "hccl"), ("NCCL", "HCCL"))
TORCH = "\nimport torch\n"


def ported(text: str) -> str:
    """Returns a program, or a name in it, in torch_npu's spelling."""
    for theirs, own in SPELLINGS:
        text = text.replace(theirs, own)
    return text.replace(TORCH, f"{TORCH}import torch_npu\n")


def outcomes(platform: Platform, subjects: Iterable[str]) -> dict[str, str | None]:
    """Runs the idioms of files in torch_npu's spelling under plain Python; returns as `outcomes_together`."""
    names = {
        f"{subject}.{ported(name)}": f"{subject}.{name}" for subject in subjects for name in idioms(subject)
    }
    with tempfile.TemporaryDirectory() as written:
        folder = pathlib.Path(written)
        for file in FOLDER.glob("*.py"):
            (folder / file.name).write_text(ported(file.read_text(encoding="utf-8")), encoding="utf-8")
        ended = collect(platform, [sys.executable], folder, list(names))
    return {names[name]: failure for name, failure in ended.items()}
