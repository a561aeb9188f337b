"""Runs a script that ``morph`` has claimed, and corrects the differences from a plain run.

The interpreter compiles a script itself, without an importer. But first it asks ``sys.path_hooks`` whether
the script can be imported from, like a zip file; morph answers yes, and so gets to run the script. ``runpy``
asks the same in a child that multiprocessing has spawned, to read the parent's script. A script that does
not mention CUDA is not claimed: it runs as if morph were not there.
"""

from __future__ import annotations

import os
import sys
from typing import TYPE_CHECKING, Any

from morph import claim_script
from morph.running.startup import waiting

if TYPE_CHECKING:
    from importlib.machinery import ModuleSpec
    from types import CodeType, ModuleType


def claim(path: str, *, of_interpreter: bool) -> ScriptEntry:
    """Return the importer of the script at ``path`` as an entry of ``sys.path``.

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
        """Return the spec of ``__main__``; runpy uses only its code."""
        from importlib.machinery import ModuleSpec

        if fullname != "__main__":
            return None
        return ModuleSpec(fullname, self, origin=self._path)  # type: ignore[arg-type]

    def get_code(self, fullname: str) -> CodeType:
        """Return code that passes its namespace to ``run``."""
        run = f"__import__({__name__!r}, fromlist=['run']).run"
        call = f"{run}(globals(), {self._path!r}, of_interpreter={self._of_interpreter})"
        return compile(call, "<morph>", "exec", dont_inherit=True)


def run(namespace: dict[str, Any], path: str, *, of_interpreter: bool) -> None:
    """Run the script at ``path`` in ``namespace``, which runpy made for an entry of ``sys.path``.

    Args:
        namespace: The attributes of the module that the script becomes.
        path: The script, as ``sys.path`` names it.
        of_interpreter: Whether it is what the interpreter was started with; else ``runpy.run_path`` runs it.
    """
    from morph.finders.rewriting.compilation import compile_source
    from morph.running.launcher.program import insert_path, run_script

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
