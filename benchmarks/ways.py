"""The measured ways of running CUDA code on another device, each in its own process."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any


def morph(backend: str) -> None:
    import morph

    morph.activate(backend)


def transfer_to_npu(backend: str) -> None:
    import torch_npu  # noqa: F401
    from torch_npu.contrib import transfer_to_npu  # noqa: F401


def torchada(backend: str) -> None:
    import torchada  # noqa: F401


def cuda_morph(backend: str) -> None:
    import ascend_compat

    ascend_compat.activate()


WAYS: dict[str, Callable[[str], None]] = {
    function.__name__: function for function in (morph, transfer_to_npu, torchada, cuda_morph)
}


def in_processes(program: str, ways: list[str], backend: str) -> dict[str, Any]:
    """Run the module ``program`` under each way; return its JSON output, or the last line of its error."""
    results: dict[str, Any] = {}
    for way in ways:
        command = [sys.executable, "-W", "ignore", "-m", program, "--backend", backend, "--only", way]
        done = subprocess.run(command, capture_output=True, text=True, env=dict(os.environ), check=False)
        if done.returncode == 0:
            results[way] = json.loads(done.stdout.splitlines()[-1])
        else:
            results[way] = (done.stderr.strip().splitlines() or ["no output"])[-1]
    return results
