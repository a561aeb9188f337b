"""Runs the idioms of a file one after the other and writes the outcome of each.

An idiom is a public function without arguments, or a row of `EXPRESSIONS`, whose value must be true.

The idiom file itself is the main program, so that it is loaded like a user's script:

    python -m morph tests/idioms/devices.py RESULTS [NAME...]
"""

import functools
import inspect
import json
import sys
import traceback

import torch


def run(namespace):
    """Runs the idioms of a file, or those named on the command line.

    Args:
        namespace: The `globals()` of the file.
    """
    results, names = sys.argv[1], sys.argv[2:]
    functions = [name for name, value in namespace.items() if _is_idiom(name, value)]
    with open(results, "a", encoding="utf-8") as file:
        for name in names or [*functions, *namespace.get("EXPRESSIONS", {})]:
            attempt(name, namespace, name, file)


def refusal(action, *kinds):
    """Returns the text of the error that an action raises, which must be one of some kinds."""
    try:
        action()
    except kinds as error:
        return str(error)
    raise AssertionError("nothing was refused")


def attempt(shown, namespace, name, file):
    """Runs an idiom and writes its outcome.

    Args:
        shown: The name to write.
        namespace: The `globals()` of the idiom's file.
        name: Its name there.
        file: Receives a line of JSON before the run, to identify what kills the process, and one after.
    """
    print(json.dumps({"name": shown}), file=file, flush=True)
    expression = namespace.get("EXPRESSIONS", {}).get(name)
    function = namespace[name] if expression is None else functools.partial(_hold, expression)
    print(json.dumps({"name": shown, "failure": _failure(function)}), file=file, flush=True)


def _is_idiom(name, value):
    return inspect.isfunction(value) and value.__module__ == "__main__" and not name.startswith("_")


def _hold(expression):
    assert expression(), " ".join(inspect.getsource(expression).split())


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
