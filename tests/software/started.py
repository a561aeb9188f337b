"""Runs Python on a simulated device: `python -m tests.software.started BACKEND (-m MODULE|-c CODE|FILE)`."""

import runpy
import sys

from morph import software


def run() -> None:
    """Starts the simulated device and runs the code that the command line names."""
    software.start(sys.argv[1])
    execute(*sys.argv[2:])


def execute(kind: str, *rest: str) -> None:
    """Runs code as Python's own command line does: after ``-m`` or ``-c``, or a file."""
    if kind == "-c":
        sys.argv[:] = ["-c", *rest[1:]]
        exec(compile(rest[0], "<string>", "exec"), {"__name__": "__main__"})
    elif kind == "-m":
        sys.argv[:] = [*rest]
        runpy.run_module(rest[0], run_name="__main__", alter_sys=True)
    else:
        sys.argv[:] = [kind, *rest]
        runpy.run_path(kind, run_name="__main__")


if __name__ == "__main__":
    run()
