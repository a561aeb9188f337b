"""Starting a Python of morph's own, which imports nothing from the current folder."""

from __future__ import annotations

import os
import sys

from morph.base.importing import is_path_safe

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
_UNSAFE = "import sys; del sys.path[0]; "  # with -c Python puts the current folder there
_STARTERS = {
    "-c": f"{_UNSAFE}exec(sys.argv.pop(1))",
    "-m": f"{_UNSAFE}import runpy; runpy.run_module(sys.argv.pop(1), run_name='__main__', alter_sys=True)",
}


def command(*words: str) -> list[str]:
    """Return the command of a Python that finds modules as this one does, and none in the current folder.

    Args:
        *words: ``-m`` and a module, or ``-c`` and code; then the arguments.
    """
    if sys.version_info >= (3, 11):
        return [sys.executable, "-P", *words]
    return without_option(*words)


def without_option(*words: str) -> list[str]:
    """Return the same command for Python 3.10, which has no option ``-P``."""
    return [sys.executable, "-c", _STARTERS[words[0]], *words[1:]]


def launcher_command(*words: str) -> list[str]:
    """Return the command of ``python -m morph`` with these words, whatever the current folder holds.

    The program's own folder comes on its path, as in this process.

    Args:
        *words: The options and the program.
    """
    options, ours = (["-P"], 0) if is_path_safe() else ([], 1)
    start = f"import sys; sys.path[:{ours}] = [{ROOT!r}]; import morph; del sys.path[0]; "
    start += "from morph.running.launcher.command import main; main(sys.argv[1:])"
    return [sys.executable, *options, "-c", start, *words]
