"""The program, run as ``__main__`` as Python itself would."""

from __future__ import annotations

import builtins
import io
import marshal
import os
import pathlib
import sys
from collections.abc import Callable, Sequence
from importlib.machinery import BuiltinImporter, PathFinder, SourceFileLoader, SourcelessFileLoader
from importlib.util import MAGIC_NUMBER
from types import CodeType, ModuleType
from typing import Any, NamedTuple

from morph.base.announcement import launcher
from morph.base.errors import did_you_mean
from morph.base.importing import current_folder, is_path_safe
from morph.running.commands import COMMANDS
from morph.running.launcher.tracebacks import call_as_outermost, show_from
from morph.running.startup.beside import modules_beside

PYC_HEADER = 16
ELF = b"\x7fELF"
DELETED = "/proc/self/cwd"  # stands for the current folder once it is deleted: nothing is in it
_launcher = sys.modules["__main__"]  # with no reference it would be cleared while its code still runs


class Program(NamedTuple):
    """The program of a command line, after morph's own options.

    Attributes:
        kind: ``"file"`` (a script, a directory or a zip file), ``"module"``, ``"code"`` or ``"input"``.
        what: The path, the module's name, the code, or ``"-"``.
        arguments: The program's own arguments.
    """

    kind: str
    what: str
    arguments: Sequence[str] = ()

    def words(self) -> list[str]:
        """Return the words of a command line that name the program."""
        return [*_WORDS[self.kind], self.what, *self.arguments]

    def folder(self) -> pathlib.Path:
        """Return the program's folder; the current one if the program is not a file."""
        path = pathlib.Path(current_folder() or DELETED, self.what if self.kind == "file" else "").resolve()
        return path if path.is_dir() else path.parent

    def modules(self) -> list[str]:
        """Return the names of the program's top-level modules, those beside it included."""
        named = [self.what.partition(".")[0]] if self.kind == "module" else []
        beside = [] if is_path_safe() else modules_beside(self.folder())
        return ["__main__", *named, *beside]

    def run(self) -> None:
        """Run the program in this process."""
        main = sys.modules["__main__"] = ModuleType("__main__")
        if sys.version_info < (3, 14):
            main.__annotations__ = {}
        main.__dict__["__builtins__"] = builtins
        _RUNNERS[self.kind](self, main.__dict__)


def _run_script(path: str, namespace: dict[str, Any]) -> None:
    """Run the script at the absolute ``path`` in the ``namespace`` of ``__main__``."""
    content = _read(path)
    is_bytecode = path.endswith(".pyc") or content[:2] == MAGIC_NUMBER[:2]
    loader = SourcelessFileLoader if is_bytecode else SourceFileLoader
    if content.startswith(ELF):
        from morph.kernels import extensions

        extensions.run_program(path, sys.argv)
    namespace.update(__package__=None, __loader__=loader("__main__", path), __spec__=None)
    namespace.update(__file__=path, __cached__=None)
    if is_bytecode:
        _execute(lambda: _from_bytecode(content), namespace)
    else:
        _execute(lambda: _compile(content, path), namespace)


def _run_file(program: Program, namespace: dict[str, Any]) -> None:
    sys.argv = [program.what, *program.arguments]
    path = os.path.join(current_folder(), program.what)
    if _is_path_entry(path):
        sys.path.insert(0, path)  # as Python does, even under -P
        _run_module_as_main("__main__", False)
    else:
        _check_readable(program.what)
        insert_path(os.path.dirname(os.path.realpath(path)))
        _run_script(path, namespace)


def _run_module(program: Program, namespace: dict[str, Any]) -> None:
    sys.argv = ["-m", *program.arguments]
    if current_folder():
        insert_path(current_folder())
    _run_module_as_main(program.what, True)


def _run_code(program: Program, namespace: dict[str, Any]) -> None:
    sys.argv = ["-c", *program.arguments]
    insert_path("")
    namespace["__loader__"] = BuiltinImporter
    _execute(lambda: _compile(program.what, "<string>"), namespace)


def _run_input(program: Program, namespace: dict[str, Any]) -> None:
    sys.argv = ["-", *program.arguments]
    insert_path("")
    namespace.update(__loader__=BuiltinImporter, __file__="<stdin>", __cached__=None)
    source = sys.stdin.buffer.read()
    _execute(lambda: _compile(source, "<stdin>"), namespace)


_WORDS = {"file": ["--"], "module": ["-m"], "code": ["-c"], "input": []}
_RUNNERS: dict[str, Callable[[Program, dict[str, Any]], None]] = {
    "file": _run_file,
    "module": _run_module,
    "code": _run_code,
    "input": _run_input,
}


def insert_path(folder: str) -> None:
    """Put the program's folder first on ``sys.path``, unless Python was told not to (``-P``)."""
    if not is_path_safe():
        sys.path.insert(0, folder)


def _run_module_as_main(name: str, alter_argv: bool) -> None:
    import runpy

    # the interpreter's own function for -m, directories and zip files, for the same messages and frames
    call_as_outermost(runpy._run_module_as_main, name, alter_argv)  # type: ignore[attr-defined]


def _execute(compiled: Callable[[], CodeType], namespace: dict[str, Any]) -> None:
    try:
        code = compiled()
    except Exception as error:
        show_from(error, None)
        raise
    call_as_outermost(exec, code, namespace)


def _compile(source: str | bytes, path: str) -> CodeType:
    code: CodeType = compile(source, path, "exec", dont_inherit=True)
    return code


def _from_bytecode(content: bytes) -> CodeType:
    if content[:4] != MAGIC_NUMBER:
        raise RuntimeError("Bad magic number in .pyc file")
    code = marshal.loads(memoryview(content)[PYC_HEADER:])
    if not isinstance(code, CodeType):
        raise RuntimeError("Bad code object in .pyc file")
    return code


def _is_path_entry(path: str) -> bool:
    """Return whether ``path`` can be imported from: a directory or a zip file."""
    import pkgutil

    return pkgutil.get_importer(path) is not None


def _check_readable(path: str) -> None:
    try:
        io.open_code(os.path.join(current_folder() or DELETED, path)).close()
    except OSError as error:
        reason = f"[Errno {error.errno}] {error.strerror}{_hint(path)}"
        print(f"{launcher()}: can't open file {path!r}: {reason}", file=sys.stderr)
        raise SystemExit(2) from None


def _hint(path: str) -> str:
    """Return what else may be meant by a file that does not exist: a module, or a command of morph's."""
    if path.isidentifier() and PathFinder.find_spec(path):
        return f"; did you mean -m {path}?"
    return did_you_mean(path, COMMANDS, "the command ") if os.sep not in path else ""


def _read(path: str) -> bytes:
    with io.open_code(path) as file:
        return file.read()
