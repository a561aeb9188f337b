"""Programs that ``nvcc`` has linked, run in this process: by `start.cpp` they become Python and come here."""

from __future__ import annotations

import atexit
import ctypes
import os
import pathlib
import re
import signal
import sys
from collections.abc import Sequence
from typing import NoReturn

from morph.base import announcement

_ENTRY = b"\0morph_start\0"
_RUNTIME = re.compile(rb"/(cuda-[0-9a-f]+)/lib64/libcudart\.so\0")
REFUSED, NOT_STARTED = 2, 127
_ALL_CATEGORIES = 6  # LC_ALL
_FULLY, _BY_LINES = 0, 1  # _IOFBF, _IOLBF
_NUMBERS = {"stdin": 0, "stdout": 1}
_buffers = {name: ctypes.create_string_buffer(4096) for name in _NUMBERS}
_AT_EXIT = ctypes.CFUNCTYPE(None, ctypes.c_void_p)


def run(path: str, words: Sequence[str]) -> NoReturn:
    """Run a program to its end, and this process's.

    Args:
        path: Its file.
        words: Its arguments, its own name first.

    Raises:
        SystemExit: With status 2, if morph's ``nvcc`` did not link it, or that of another morph or torch did.
    """
    content = pathlib.Path(path).read_bytes()
    if _ENTRY not in content:
        _refuse(f"{words[0]}: it is neither in Python nor linked by morph's nvcc")
    _start(words[0], content)
    process = ctypes.CDLL(None)
    at_exit = _AT_EXIT(lambda _: _end())
    process.__cxa_atexit(at_exit, None, None)  # before the program's own: it is called after them
    _become_programs(process)
    try:
        program = ctypes.CDLL(os.path.abspath(path))
    except OSError as error:
        print(f"morph: {error}", file=sys.stderr)
        process.exit(NOT_STARTED)
    given = (ctypes.c_char_p * (len(words) + 1))(*map(os.fsencode, words), None)
    environment = ctypes.c_void_p.in_dll(process, "environ")
    process.exit(program.morph_program(len(words), given, environment))
    raise AssertionError("a process has ended")


def _refuse(why: str) -> NoReturn:
    announcement.report(why)
    raise SystemExit(REFUSED)


def _start(name: str, content: bytes) -> None:
    """Start the software device."""
    import torch  # which activates morph

    from morph.base import native
    from morph.kernels.extensions import toolkit
    from morph.software import machine

    if not machine.is_started() or machine.started().device_type != "cuda":
        _refuse(f"{name}: a program in CUDA C++ runs on the software device; use --backend cpu")
    torch.cuda.init()  # type: ignore[no-untyped-call]
    tools = toolkit.assemble()
    linked = _RUNTIME.search(content)
    if linked and linked[1].decode() != tools.home.name:
        _refuse(f"{name}: it was linked for another morph or torch; build it again")
    native.provide(tools.library())


def _become_programs(process: ctypes.CDLL) -> None:
    """Set what Python has changed of the process back to what a program finds."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    for number in (signal.SIGPIPE, signal.SIGXFSZ):
        signal.signal(number, signal.SIG_DFL)
    process.setlocale(_ALL_CATEGORIES, b"C")
    sys.stdout.flush()
    for name, buffer in _buffers.items():  # PYTHONUNBUFFERED has made them unbuffered
        stream = ctypes.c_void_p.in_dll(process, name)
        mode = _BY_LINES if os.isatty(_NUMBERS[name]) else _FULLY
        process.setvbuf(stream, buffer, mode, ctypes.c_size_t(len(buffer)))


def _end() -> None:
    """Do what Python does at its end."""
    atexit._run_exitfuncs()
    sys.stdout.flush()
