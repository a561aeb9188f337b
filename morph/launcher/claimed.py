"""Runs a script that :mod:`morph.launcher.startup` has claimed, with what only a plain run has put right."""

from __future__ import annotations

import os
import sys
from typing import Any

from morph.finders.literals import compile_source
from morph.launcher import startup
from morph.launcher.program import insert_path, run_script


def run(namespace: dict[str, Any], path: str, *, of_interpreter: bool) -> None:
    """Run the script at ``path`` in ``namespace``, which runpy has made for an entry of ``sys.path``.

    Args:
        namespace: The attributes of the module that the script becomes.
        path: The script, as ``sys.path`` names it.
        of_interpreter: Whether it is what the interpreter was started with; else ``runpy.run_path`` runs it.
    """
    sys.path.remove(path)
    sys.path_importer_cache.pop(path, None)
    sys.path_hooks.remove(startup.claim_script)
    if of_interpreter:
        insert_path(os.path.dirname(os.path.realpath(path)))
        run_script(path, namespace, startup.literals_of("__main__"))
    else:
        namespace.update(__loader__=None, __spec__=None)
        with open(path, "rb") as file:
            code = compile_source(file.read(), path, startup.literals_of("__main__"))
        exec(code, namespace)
