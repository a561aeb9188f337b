"""Runs the functions of an idiom file, one after the other, and writes what became of each.

The file itself is the program that is started, so that it is loaded as a user's script is:

    python -m morph tests/idioms/devices.py RESULTS [NAME...]
"""

import inspect
import json
import sys
import traceback

import torch


def run(namespace):
    """Runs the idioms of a file: its public functions, or those named on the command line.

    Args:
        namespace: The `globals()` of the file.
    """
    results, names = sys.argv[1], sys.argv[2:]
    functions = {name: value for name, value in namespace.items() if _is_idiom(name, value)}
    with open(results, "a", encoding="utf-8") as file:
        for name in names or functions:
            attempt(name, functions[name], file)


def attempt(name, function, file):
    """Runs an idiom and writes what became of it.

    Args:
        name: What to call it there.
        function: The idiom.
        file: Takes a line of JSON before it runs, so that what kills the process is known, and one after.
    """
    print(json.dumps({"name": name}), file=file, flush=True)
    print(json.dumps({"name": name, "failure": _failure(function)}), file=file, flush=True)


def _is_idiom(name, value):
    return inspect.isfunction(value) and value.__module__ == "__main__" and not name.startswith("_")


def _failure(function):
    """Returns the end of the traceback, or None if the idiom holds."""
    try:
        try:
            function()
        finally:
            _reset()
    except BaseException:
        return "".join(traceback.format_exc().splitlines(keepends=True)[-12:])
    return None


def _reset():
    """Puts back what an idiom may have set for the whole process."""
    torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.cuda.set_device(0)
    torch.manual_seed(0)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
