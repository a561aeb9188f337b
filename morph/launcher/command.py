"""The command line of ``morph`` and ``python -m morph``."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence

from morph import commands
from morph.announcement import LAUNCHER
from morph.errors import did_you_mean
from morph.importing import is_path_safe, own_imports
from morph.launcher.options import Options
from morph.launcher.program import Program

USAGE = f"""\
usage: {LAUNCHER} [options] program.py [argument ...]
       {LAUNCHER} [options] -m module [argument ...]
       {LAUNCHER} [options] -c code [argument ...]
       {LAUNCHER} [options] - [argument ...]
       {LAUNCHER} command [argument ...]
"""
HELP = f"""{USAGE}
Run a program written for CUDA, unchanged, on the accelerator that is there, or
on the CPU.

program:
  program.py       a script, or a directory or zip file with a __main__.py
  -m module        a module, as python -m
  -c code          code, as python -c
  -                the program is read from standard input

options:
  --backend NAME   run on this backend, not on the first whose device is there
  --rehearse NAME  run on a simulated device of this backend, and end with a
                   table of every CUDA name that the program used, and whether
                   it would run; the exit status is the program's own
  --rehearse all   the same on each backend in turn, with a column for each; the
                   exit status is 0 if the program would run on all, else 1
  --json FILE      write the result of a rehearsal as JSON, too
  --devices N      the number of software devices, on the CPU or in a rehearsal
  --device-memory AMOUNT
                   the memory of each of these, such as 8GiB
  --report FILE    write every CUDA name that the program uses, where, how often
                   and how it was served, to FILE.html or FILE.json
  --version        print the version of morph
  -h, --help       print this text

Whatever follows the program belongs to the program. Child processes run under
morph too.

commands (each has a --help; ./NAME runs a program of that name):
{commands.summary()}

environment:
  MORPH_BACKEND, MORPH_REHEARSE, MORPH_DEVICES, MORPH_DEVICE_MEMORY
                   the same as the options, which come first
  MORPH_PACKAGES   the packages that see CUDA, beside the program; else all do
  MORPH_CACHE      the folder for compiled parts, instead of ~/.cache/morph
  MORPH_SEAM       "python" does without the compiled part, and is slower
  MORPH_STARTUP    "0" keeps morph out of one Python of an enabled environment

example:
  {LAUNCHER} --backend cpu train.py --epochs 2
  {LAUNCHER} --devices 4 -m torch.distributed.run \\
      --nproc-per-node 4 train.py
"""


class UsageError(Exception):
    """The command line cannot be understood."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the program or the command of morph that the command line names.

    It raises ``SystemExit`` if a program does not end normally, and at the end of a command.

    Args:
        arguments: The command line without the name of the command; None takes it from ``sys.argv``.
    """
    if arguments is None:
        _drop_own_path()
    words = sys.argv[1:] if arguments is None else arguments
    if commands.is_command(words):
        raise SystemExit(commands.run(words))
    try:
        options, program = parse(words)
    except UsageError as error:
        print(f"{USAGE}{LAUNCHER}: error: {error}", file=sys.stderr)
        raise SystemExit(2) from None
    with own_imports:
        from morph.launcher.running import run

    run(options, program)


def _drop_own_path() -> None:
    """Remove the folder that ``python -m`` or the console script put on the path for morph itself."""
    if not is_path_safe():
        del sys.path[0]


def parse(arguments: Sequence[str]) -> tuple[Options, Program]:
    """Split a command line into morph's options and the program, whose arguments are not parsed.

    >>> options, program = parse(["--backend", "cpu", "train.py", "--backend", "nccl"])
    >>> options.backend, program.what, program.arguments
    ('cpu', 'train.py', ['--backend', 'nccl'])

    Raises:
        UsageError: If an option is unknown, a value or the program is missing.
        SystemExit: After printing the version or the help.
    """
    options, words = Options(), list(arguments)
    while words and words[0].startswith("--") and words[0] != "--":
        options = _option(options, words)
    if options.json and not options.rehearse:
        raise UsageError("--json needs --rehearse")
    if options.report and (options.rehearse or not options.report.endswith((".html", ".json"))):
        raise UsageError("--report cannot go with --rehearse, and needs a file that ends in .html or .json")
    if words[:1] == ["--"]:
        return options, _file(words[1:])
    return options, _program(words)


def _answer(name: str) -> int:
    print(_ANSWERS[name]())
    return 0


def _option(options: Options, words: list[str]) -> Options:
    name, has_value, value = words.pop(0).removeprefix("--").partition("=")
    if name in _ANSWERS and not has_value:
        raise SystemExit(commands.finished(functools.partial(_answer, name)))
    key = name.replace("-", "_")
    if key not in Options._fields or "_" in name:
        options_known = [each.replace("_", "-") for each in Options._fields]
        raise UsageError(f"unknown option --{name}{did_you_mean(name, options_known, '--')}")
    if not has_value and words:
        value = words.pop(0)
    if not value:
        raise UsageError(f"--{name} needs {_NEEDS.get(name, 'the name of a backend')}")
    return options._replace(**{key: value})


def _program(words: list[str]) -> Program:
    first = words[0] if words else ""
    if first == "-h":
        print(HELP)
        raise SystemExit(0)
    if first == "-":
        return Program("input", first, words[1:])
    if first[:2] in _KINDS:
        return _valued(_KINDS[first[:2]], words)
    if first.startswith("-"):
        raise UsageError(f"unknown option {first}")
    return _file(words)


def _valued(kind: str, words: list[str]) -> Program:
    option = words.pop(0)
    if option[2:]:
        return Program(kind, option[2:], words)
    if not words:
        raise UsageError(f"{option} needs a {kind}")
    return Program(kind, words[0], words[1:])


def _file(words: list[str]) -> Program:
    if not words:
        raise UsageError("no program is given")
    return Program("file", words[0], words[1:])


def _version() -> str:
    from morph import __version__

    return f"morph {__version__}"


_NEEDS = {
    "json": "the name of a file",
    "report": "the name of a file",
    "devices": "a number",
    "device-memory": "an amount, such as 8GiB",
}
_KINDS = {"-m": "module", "-c": "code"}
_ANSWERS: dict[str, Callable[[], str]] = {"help": lambda: HELP, "version": _version}
