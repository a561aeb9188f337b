"""The lines of the program, among those of torch and of morph."""

from __future__ import annotations

import os
import pathlib
import sys
from collections.abc import Iterable
from typing import Any

import torch

import morph
from morph.software.machine import started

OTHERS = tuple(f"{pathlib.Path(str(package.__file__)).parent}{os.sep}" for package in (torch, morph))


def first_of(frames: Iterable[dict[str, Any]]) -> str:
    """Return the program's first line among frames of the allocator's history, ``"train.py:12"``."""
    own = (each for each in frames if not each["filename"].startswith((*OTHERS, "<frozen ")))
    return next((f"{os.path.basename(each['filename'])}:{each['line']}" for each in own), "")


def pass_over_others() -> None:
    """Let the device take none of the others' lines for the program's."""
    started().native.pass_over_lines([*OTHERS, "<"])


def current() -> str:
    """Return the program's line that runs now."""
    frame = sys._getframe()
    while frame.f_code.co_filename.startswith((*OTHERS, "<frozen ")):
        if frame.f_back is None:
            return "an unknown line"
        frame = frame.f_back
    return f"{os.path.basename(frame.f_code.co_filename)}:{frame.f_lineno}"
