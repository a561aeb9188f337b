"""Runs the functions of an idiom file one after the other and writes the outcome of each.

The idiom file itself is the main program, so that it is loaded like a user's script:

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
    """Runs an idiom and writes its outcome.

    Args:
        name: The name to write.
        function: The idiom.
        file: Receives a line of JSON before the run, to identify what kills the process, and one after.
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
    """Resets the process-wide state that an idiom may have changed."""
    torch.set_default_device(None)
    torch.set_default_dtype(torch.float32)
    torch.set_grad_enabled(True)
    torch.cuda.set_device(0)
    torch.manual_seed(0)
    if torch.distributed.is_initialized():
        torch.distributed.destroy_process_group()
