"""The commands of the host's compiler, by which nvcc's work is done."""

from __future__ import annotations

import os
import pathlib
import shlex
import subprocess
import sys

from morph.base.errors import MorphError
from morph.kernels.extensions.options import Options

INCLUDE = pathlib.Path(__file__).parent / "include"


def includes() -> list[str]:
    """Return the folders of the toolkit's headers, as options."""
    return [f"-I{folder}" for folder in (home() / "include", INCLUDE)]


def dependencies(options: Options, target: str) -> list[str]:
    """Return the options by which the preprocessor writes what a target depends on, if that is asked for."""
    if options.dependencies is None:
        return []
    return ["-MD", "-MF", options.dependencies or f"{target}.d", "-MT", options.dependent or target]


def home() -> pathlib.Path:
    """Return the toolkit's folder: this program lies in its ``bin``."""
    return pathlib.Path(os.environ["MORPH_NVCC_HOME"])


def compiler() -> list[str]:
    """Return the command of the compiler, which may have a launcher and options: ``ccache g++ -m64``.

    Raises:
        MorphError: If ``CXX`` is no command.
    """
    try:
        words = shlex.split(os.environ.get("CXX", ""))
        is_own = words[:1] != [] and os.path.basename(words[0]) == "nvcc"  # "make CXX=nvcc", so that it links
        return words if words and not is_own else ["c++"]
    except ValueError as error:
        raise MorphError(f"CXX is no command: {error}: {os.environ['CXX']}") from None


def call(words: list[str]) -> int:
    """Run a command.

    Args:
        words: The command and its arguments.

    Returns:
        Its exit status.

    Raises:
        MorphError: If it does not start.
    """
    try:
        return subprocess.run(words, check=False).returncode
    except OSError as error:
        raise _no_compiler(words, error) from None


def _no_compiler(words: list[str], error: OSError) -> MorphError:
    return MorphError(f"the compiler {words[0]} does not start: {error.strerror}; CXX names another")


def problem(words: list[str]) -> str | None:
    """Run a command that may fail; return what it says then, or None. What it says else is said.

    Raises:
        MorphError: If it does not start.
    """
    try:
        done = subprocess.run(words, stderr=subprocess.PIPE, check=False)
    except OSError as error:
        raise _no_compiler(words, error) from None
    said = done.stderr.decode(errors="replace")
    if done.returncode:
        return said
    sys.stderr.write(said)
    return None


def output(words: list[str]) -> str:
    """Return what a command writes to its standard output; what it says of errors is left out.

    Args:
        words: The command and its arguments.

    Raises:
        OSError: If it does not start.
    """
    return subprocess.run(words, capture_output=True, check=False).stdout.decode(errors="surrogateescape")
