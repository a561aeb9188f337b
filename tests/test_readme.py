"""The README is short, its table is made of the figures as they are, and the commands in the docs exist."""

import argparse
import importlib
import itertools
import pathlib
import re
import shlex

import pytest

from docs.generate import figures, front
from morph.running import commands
from morph.running.launcher.command import parse
from tests.platforms import REPOSITORY

README = (REPOSITORY / "README.md").read_text(encoding="utf-8")
PAGES = [REPOSITORY / "README.md", *REPOSITORY.glob("docs/*.md"), *REPOSITORY.glob("docs/*/*.md")]
COMMAND = re.compile(r"^(?:\$ )?(?:python -m )?(morph(?: [^`\n#]+)?)$", re.MULTILINE)


def commands_in(text: str) -> list[list[str]]:
    """Returns the command lines of morph in code blocks and between backticks, without the first word."""
    code = re.findall(r"^```\w*\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    code += re.findall(r"(?<!`)`([^`\n]+)`", text)
    lines = itertools.chain.from_iterable(COMMAND.findall(each) for each in code)
    words = [shlex.split(line) for each in lines for line in each.split(" && ")]
    return [line[1:] for line in words if line[0] == "morph" and len(line) > 1]


@pytest.mark.parametrize("page", front.TABLES)
def test_a_table_is_what_it_is_made_of(page: str) -> None:
    text = (REPOSITORY / page).read_text(encoding="utf-8")
    assert front.written(page) == text, f"{front.COMMAND} writes it"


def test_it_is_short() -> None:
    lines = README.splitlines()
    assert len(lines) <= 180
    cells = [cell for line in lines if line.startswith("|") for cell in line.strip("|").split(" | ")]
    assert [cell for cell in cells if len(cell) > 120] == []


@pytest.mark.parametrize("file", PAGES, ids=lambda file: str(file.relative_to(REPOSITORY)))
def test_its_commands_exist(file: pathlib.Path) -> None:
    lines = commands_in(file.read_text(encoding="utf-8"))
    assert [line for line in lines if not is_understood(line)] == []


def is_understood(words: list[str]) -> bool:
    """Parses a command line of morph as it is parsed when it is run."""
    parser = argparse.ArgumentParser()
    try:
        if not commands.is_command(words):
            return bool(parse(words))
        importlib.import_module(f"morph.running.commands.{words[0]}").add_arguments(parser)
        return bool(parser.parse_args(words[1:]))
    except SystemExit as end:  # help was asked for, or the words are wrong
        return end.code == 0


def test_what_is_found_are_commands() -> None:
    found = commands_in(README)
    assert ["--rehearse", "npu", "train.py"] in found
    assert ["check", "src"] in found
    assert not is_understood(["check", "--no-such-option"])


def test_no_more_pass_than_are_run() -> None:
    found = [run for group in figures.record("suites")["groups"] for run in figures.runs(group)]
    assert [run.suite for run in found if run.passed is not None and run.passed > (run.of or 0)] == []
    assert [run.suite for run in found if run.passed is None and not run.shown] == []
    assert [run.suite for run in found if run.of != run.passed and not run.rest] == []
