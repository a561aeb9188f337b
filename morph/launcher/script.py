"""Runs a script that :mod:`morph` has claimed, with what only a plain run has put right.

The interpreter compiles a script itself, and asks nobody. But first it asks ``sys.path_hooks`` whether the
script is something to import from, as a zip file is; the answer is yes, and so morph gets to run it. The same
question is asked, by ``runpy``, in a child that multiprocessing has spawned and that is to read its parent's
script. A script that does not mention CUDA is not claimed: it runs as if morph were not there.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from morph import claim_script
from morph.startup import waiting

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType


def claim(path: str, *, of_interpreter: bool) -> ScriptEntry:
    """Return what stands for the script at ``path`` among the entries of ``sys.path``.

    Args:
        path: A script that mentions CUDA.
        of_interpreter: Whether it is what the interpreter was started with; else ``runpy.run_path`` runs it.

    Raises:
        ImportError: If it need not be rewritten.
    """
    if waiting.literals_of("__main__") is None:
        raise ImportError(path)
    return ScriptEntry(path, of_interpreter=of_interpreter)


class ScriptEntry:
    """A script as an entry of ``sys.path``; the only module in it is ``__main__``."""

    def __init__(self, path: str, *, of_interpreter: bool) -> None:
        self._path = path
        self._of_interpreter = of_interpreter

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of ``__main__``; runpy asks for its code only."""
        from importlib.machinery import ModuleSpec

        if fullname != "__main__":
            return None
        return ModuleSpec(fullname, self, origin=self._path)  # type: ignore[arg-type]

    def get_code(self, fullname: str) -> CodeType:
        """Return code that hands the namespace it is run in to ``run``."""
        run = f"__import__({__name__!r}, fromlist=['run']).run"
        call = f"{run}(globals(), {self._path!r}, of_interpreter={self._of_interpreter})"
        return compile(call, "<morph>", "exec", dont_inherit=True)


def run(namespace: dict[str, Any], path: str, *, of_interpreter: bool) -> None:
    """Run the script at ``path`` in ``namespace``, which runpy has made for an entry of ``sys.path``.

    Args:
        namespace: The attributes of the module that the script becomes.
        path: The script, as ``sys.path`` names it.
        of_interpreter: Whether it is what the interpreter was started with; else ``runpy.run_path`` runs it.
    """
    from morph.finders.rewriting.compilation import compile_source
    from morph.launcher.program import insert_path, run_script

    sys.path.remove(path)
    sys.path_importer_cache.pop(path, None)
    sys.path_hooks.remove(claim_script)
    if of_interpreter:
        insert_path(os.path.dirname(os.path.realpath(path)))
        run_script(path, namespace, waiting.literals_of("__main__"))
    else:
        namespace.update(__loader__=None, __spec__=None)
        with open(path, "rb") as file:
            code = compile_source(file.read(), path, waiting.literals_of("__main__"))
        exec(code, namespace)
