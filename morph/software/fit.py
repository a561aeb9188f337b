"""``--fit``: watches what memory a program takes in each phase of training, and by which lines."""

from __future__ import annotations

import atexit
import os
import sys
from typing import Any

import torch
from torch._compile import _disable_dynamo
from torch.optim import optimizer

from morph.software import fit_report, origins
from morph.software.machine import started

PHASES = "forward and other", "backward", "optimizer step"  # as the native device numbers them
MOST_LINES = 5  # of a report

_refused: dict[str, Any] = {"count": 0}  # how often memory was refused, and where the last time


def watch() -> None:
    """Watch the memory from now on, and tell at the end of this process."""
    native = started().native
    origins.pass_over_others()
    native.watch_peaks()
    native.observe_refused_memory(_note_refusal)
    # a compiled step breaks its graph there
    optimizer.register_optimizer_step_pre_hook(_disable_dynamo(lambda *_: native.begin_step()))
    optimizer.register_optimizer_step_post_hook(_disable_dynamo(lambda *_: native.end_step()))
    atexit.register(_tell, os.getpid())


def _tell(process: int) -> None:
    if os.getpid() == process:  # not a fork that ended by running this process's code
        fit_report.save(record())


def record() -> dict[str, Any]:
    """Return what the devices' memory has reached in this process, in bytes."""
    refused = _refused if _refused["count"] else None
    error, card = getattr(sys, "last_value", None), started().card
    devices = [_device(index, peak, refused) for index, peak in enumerate(started().native.peaks())]
    return {
        "process": os.getpid(),
        "card": card.name if card else None,
        "error": None if error is None else type(error).__name__,
        "out_of_memory": _is_of_memory(error),
        "refused": refused,
        "devices": [each for each in devices if each],
    }


def _is_of_memory(error: BaseException | None) -> bool:
    while error is not None:
        if isinstance(error, torch.OutOfMemoryError):
            return True
        error = error.__cause__ or error.__context__
    return False


def _note_refusal(index: int, wanted: int, total: int, free: int) -> None:
    phase, steps, line = started().native.refused_at()
    _refused.update(count=_refused["count"] + 1, device=f"cuda:{index}", bytes=wanted)
    _refused.update(phase=PHASES[phase], line=line, step=steps + 1)


def _device(index: int, peak: dict[str, Any], refused: dict[str, Any] | None) -> dict[str, Any] | None:
    name = f"cuda:{index}"
    levels = [{"allocated": allocated, "reserved": reserved} for allocated, reserved in peak["levels"]]
    allocated, reserved = (max(each[kind] for each in levels) for kind in ("allocated", "reserved"))
    if not reserved and (refused is None or refused["device"] != name):
        return None
    lines = sorted(peak["lines"], key=lambda line: -line[1])[:MOST_LINES]
    return {
        "device": name,
        "usable": started().native.usable_memory(),
        "peak": {"allocated": allocated, "reserved": reserved},
        "at": {"phase": PHASES[peak["phase"]], "step": peak["steps"] + 1},
        "phases": dict(zip(PHASES, levels, strict=True)),
        "lines": [{"line": line, "bytes": size, "blocks": blocks} for line, size, blocks in lines],
    }
