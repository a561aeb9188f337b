"""The command line of ``morph`` and ``python -m morph``."""

from __future__ import annotations

import functools
import sys
from collections.abc import Callable, Sequence
from types import ModuleType
from typing import Any, NoReturn

from morph.base.announcement import launcher
from morph.base.errors import did_you_mean
from morph.base.importing import is_path_safe, own_imports
from morph.running import commands
from morph.running.launcher.options import Options
from morph.running.launcher.program import Program


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
    if not words:
        _refuse(_help().short())
    if commands.is_command(words):
        raise SystemExit(commands.run(words))
    try:
        options, program = parse(words)
    except UsageError as error:
        _refuse(f"{_help().usage()}{launcher()}: error: {error}\n")
    with own_imports:
        from morph.running.launcher.running import run

    run(options, program)


def _refuse(text: str) -> NoReturn:
    print(text, end="", file=sys.stderr)
    raise SystemExit(2) from None


def _help() -> ModuleType:
    from morph.running.commands import help  # and argparse, which a program's start need not pay for

    return help


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
    while words and (words[0] in _SHORT or (words[0].startswith("--") and words[0] != "--")):
        options = _option(options, words)
    if options.json and [options.rehearse, options.fit, options.sanitize].count(None) != 2:
        raise UsageError("--json needs one of --rehearse, --fit and --sanitize")
    if options.report and (options.rehearse or not options.report.endswith((".html", ".json"))):
        raise UsageError("--report cannot go with --rehearse, and needs a file that ends in .html or .json")
    options = _with_card(options)
    if words[:1] == ["--"]:
        return options, _file(words[1:])
    return options, _program(words)


def _with_card(options: Options) -> Options:
    """Return the options with the card that --fit names."""
    card, other = options.fit, options.device_profile
    if card in (None, _ALONE["fit"]):
        return options
    if other not in (None, card):
        raise UsageError(f"--fit={card} and --device-profile {other} are two cards")
    return options._replace(device_profile=card)


def _answer(name: str) -> int:
    print(_ANSWERS[name]())
    return 0


def _option(options: Options, words: list[str]) -> Options:
    word = words.pop(0)
    name, has_value, value = _SHORT.get(word, word).removeprefix("--").partition("=")
    if name in _ANSWERS and not has_value:
        raise SystemExit(commands.finished(functools.partial(_answer, name)))
    known = [field.replace("_", "-") for field in Options._fields]
    if name not in known:
        raise UsageError(f"unknown option --{name}{did_you_mean(name, known, '--')}")
    if name in _FLAGS and has_value:
        raise UsageError(f"--{name} takes no value")
    if not has_value and name in _ALONE:
        value = _ALONE[name]
    elif not has_value and name not in _FLAGS and words:
        value = words.pop(0)
    field = name.replace("-", "_")
    chosen: dict[str, Any] = {field: name in _FLAGS or _checked(name, value)}
    if name in _SEVERAL:
        chosen[field] = _SEVERAL[name].join(filter(None, [getattr(options, field), value]))
    return options._replace(**chosen)


def _checked(name: str, value: str) -> str:
    if not value:
        raise UsageError(f"--{name} needs {_NEEDS.get(name, 'the name of a backend')}")
    return value


def _program(words: list[str]) -> Program:
    first = words[0] if words else ""
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
    "device-profile": "the name of a card, such as h100",
    "sanitize": "a check, such as race",
    "inject": "a fault, such as oom@step=3",
    "fit": "the name of a card, such as h100",
}
_SHORT = {"-h": "--help", "-V": "--version", "-q": "--quiet"}
_FLAGS = {"quiet"}
_ALONE = {"sanitize": "memory,race", "fit": "1"}  # the value of an option that need not have one
_SEVERAL = {"inject": ";"}  # what is put between the values of an option that may be given again
_KINDS = {"-m": "module", "-c": "code"}
_ANSWERS: dict[str, Callable[[], str]] = {"help": lambda: _help().text(), "version": _version}
