"""Runs idioms and writes the outcome of each: `python -m morph together.py RESULTS SUBJECT.NAME...`.

An idiom is a public function without arguments, or a row of `EXPRESSIONS`, whose value must be true.
"""

import functools
import importlib
import inspect
import json
import sys
import traceback

import torch


def attempt(name, file):
    """Runs an idiom and writes its outcome.

    Args:
        name: Its subject and name.
        file: Receives a line of JSON before the run, to identify what kills the process, and one after.
    """
    print(json.dumps({"name": name}), file=file, flush=True)
    print(json.dumps({"name": name, "failure": _failure(*name.split("."))}), file=file, flush=True)


def _hold(expression):
    assert expression(), " ".join(inspect.getsource(expression).split())


def _failure(subject, name):
    """Returns the end of the traceback, or None if the idiom holds."""
    namespace = vars(importlib.import_module(subject))
    expression = namespace.get("EXPRESSIONS", {}).get(name)
    try:
        try:
            (namespace[name] if expression is None else functools.partial(_hold, expression))()
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


if __name__ == "__main__":
    with open(sys.argv[1], "a", encoding="utf-8") as results:
        for each in sys.argv[2:]:
            attempt(each, results)
