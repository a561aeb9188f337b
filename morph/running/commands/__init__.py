"""The commands of ``morph``, one module each; any other command line runs a program.

A command's module has ``EXAMPLE``, a command line for its help; ``add_arguments(parser)``, which describes
its command line to argparse; and ``run(arguments)``, which returns the exit status. It may raise a
``MorphError``, which is printed as one line.
"""

from __future__ import annotations

import errno
import os
import sys
from collections.abc import Callable, Sequence

from morph.base.announcement import launcher

COMMANDS = {
    "bench": "measure the overhead of CUDA calls over the device's own",
    "build": "compile morph's C++ parts ahead of the first start",
    "cache": "show what morph has compiled and keeps, and remove what is old",
    "check": "find uses of CUDA in source, and how each backend serves them",
    "completion": "print a shell completion script",
    "config": "print the effective settings and the source of each",
    "coverage": "show which CUDA names work on which backend, and the evidence",
    "disable": "stop running this environment's Python under morph",
    "doctor": "check this environment, and suggest repairs",
    "enable": "run this environment's Python under morph from now on",
    "explain": "explain how each backend serves a CUDA name",
    "help": "show the help of morph, or of a command",
    "info": "show the installed packages, the devices and the backend chosen",
    "port": "rewrite CUDA-only source to device-agnostic PyTorch",
    "status": "show whether this environment's Python runs under morph",
    "surface": "record the names of an installed package, and compare recordings",
    "toolkit": "print the folder of a CUDA toolkit whose nvcc is morph's",
    "verify": "check that the device computes what the CPU does",
}
BROKEN_PIPE, INTERRUPTED = 128 + 13, 128 + 2


def is_command(words: Sequence[str]) -> bool:
    """Return whether a command line begins with a command, not with a program or an option."""
    return bool(words) and words[0] in COMMANDS


def run(words: Sequence[str]) -> int:
    """Run the command that a command line begins with.

    Args:
        words: The command line without the name of the program; ``is_command(words)`` is true.

    Returns:
        The exit status: the command's own, or 2 after a one-line error message.

    Raises:
        SystemExit: If the words are invalid, or ask for help.
    """
    import argparse
    import importlib

    name, *rest = words
    said = COMMANDS[name]
    command = importlib.import_module(f"{__name__}.{name}")
    parser = argparse.ArgumentParser(prog=f"{launcher()} {name}", description=f"{said[0].upper()}{said[1:]}.")
    command.add_arguments(parser)
    parser.epilog = " ".join(filter(None, [parser.epilog, f"Example: {launcher()} {command.EXAMPLE}"]))
    return finished(lambda: command.run(parser.parse_args(rest)))


def finished(prints: Callable[[], int]) -> int:
    """Call a function that prints, and turn its errors into an exit status.

    Args:
        prints: The function; it prints, and returns the exit status.

    Returns:
        That status; 2 after a one-line error message, 130 if it was interrupted, and 141 if the reader has
        closed the pipe: the statuses that a shell reports for SIGINT and SIGPIPE.
    """
    from morph.base.errors import MorphError

    if sys.stdout is None:  # closed before the start
        sys.stdout = open(os.devnull, "w")
    try:
        status = prints()
        sys.stdout.flush()
    except MorphError as error:
        print(f"morph: {error}", file=sys.stderr)
        return 2
    except ModuleNotFoundError as error:
        if error.name != "torch":
            raise
        print("morph: torch is not installed", file=sys.stderr)
        return 2
    except BrokenPipeError:
        _print_no_more()
        return BROKEN_PIPE
    except KeyboardInterrupt:
        return INTERRUPTED
    except OSError as error:
        if error.filename is None and error.errno != errno.ENOSPC:
            raise
        if error.filename is None:
            _print_no_more()
        print(f"morph: {error.filename or 'standard output'}: {error.strerror}", file=sys.stderr)
        return 2
    return status


def _print_no_more() -> None:
    """Discard the rest of the output, since it cannot be written."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def summary() -> str:
    """Return the lines on the commands for the help of ``morph`` itself."""
    width = max(map(len, COMMANDS)) + 2
    return "\n".join(f"  {name:{width}}{said}" for name, said in COMMANDS.items())
