"""Mutants of a file: a module is changed by operators, a table by exchanging the targets of two rows."""

import ast
import dataclasses
import difflib
import itertools
import random
import re
from collections.abc import Iterable

from cosmic_ray.ast import ast_nodes, get_ast
from cosmic_ray.mutating import mutate_code

from tests.mutation.exclusions import is_excluded
from tests.mutation.operators import Span, operators
from tests.platforms import REPOSITORY

_SECTIONS = ("renamed", "adapted", "emulated", "environment")
_ROW = re.compile(r'(?P<name>"[^"]+"|\w+) = (?P<target>"[^"]*"|\{.*\})')
_REASONS = re.compile(r"\{ (ignored|needless) = ")  # rows without a variable of the vendor's


@dataclasses.dataclass(frozen=True)
class Mutant:
    """One file with one change.

    Attributes:
        file: The file's path, relative to the repository.
        line: The number of the first changed line.
        before: The changed lines as they were, each without its indentation.
        after: The same lines after the change.
        text: The whole changed file.
    """

    file: str
    line: int
    before: str
    after: str
    text: str

    @property
    def key(self) -> tuple[str, str, str]:
        """An identifier that stays the same if its line moves."""
        return self.file, self.before, self.after


def sample(paths: list[str], size: int, seed: int) -> list[Mutant]:
    """Return a reproducible sample of the mutants of files and folders, at most one per place.

    Args:
        paths: Modules, tables and folders of modules, relative to the repository.
        size: How many mutants; 0 for one per place.
        seed: Another seed gives another choice.
    """
    chosen = random.Random(f"{seed} {' '.join(paths)}")
    places = [place for path in paths for file in files(path) for place in _places(file)]
    chosen.shuffle(places)
    mutants = (_mutant(file, chosen.choice(changes), chosen) for file, changes in places)
    return list(itertools.islice((mutant for mutant in mutants if mutant), size or None))


def files(path: str) -> list[str]:
    """Return a path's modules and tables, except those behind a link, which belong to the link's target."""
    whole = REPOSITORY / path
    found = [whole] if whole.is_file() else sorted(whole.rglob("*.py"))
    return [str(file.relative_to(REPOSITORY)) for file in found]


Place = tuple[str, list[tuple[str, int]]]


def _places(file: str) -> list[Place]:
    text = (REPOSITORY / file).read_text()
    return _rows(file, text) if file.endswith(".toml") else _code_places(file, text)


def _code_places(file: str, text: str) -> list[Place]:
    nodes = list(ast_nodes(get_ast(text)))
    found: dict[Span, list[tuple[str, int]]] = {}
    for name, operator in operators().items():
        spans = ((node, span) for node in nodes for span in operator.mutation_positions(node))
        for occurrence, (node, span) in enumerate(spans):
            if not is_excluded(node, name):
                found.setdefault(span, []).append((name, occurrence))
    return [(file, changes) for changes in found.values()]


def _rows(file: str, text: str) -> list[Place]:
    """Return a place for each row that names a target; its changes are the rows to exchange it with."""
    section, numbers = "", dict[str, list[int]]()
    for number, line in enumerate(text.splitlines()):
        section = line.strip("[]") if line.startswith("[") else section
        row = _ROW.match(line)
        if section in _SECTIONS and row is not None and not _REASONS.match(row["target"]):
            numbers.setdefault(section, []).append(number)
    return [
        (file, [(str(row), other) for other in rows if other != row])
        for rows in numbers.values()
        for row in rows
        if len(rows) > 1
    ]


def _mutant(file: str, change: tuple[str, int], chosen: random.Random) -> Mutant | None:
    text = (REPOSITORY / file).read_text()
    name, number = change
    if name.isdigit():
        changed = _exchanged(text, int(name), number)
    else:
        changed = mutate_code(text, operators()[name], number)
    return _described(file, text, changed) if changed not in (None, text) and _parses(file, changed) else None


def _parses(file: str, text: str) -> bool:
    try:
        ast.parse("" if file.endswith(".toml") else text)
    except SyntaxError:
        return False
    return True


def _exchanged(text: str, first: int, second: int) -> str:
    lines = text.splitlines(keepends=True)
    rows = [_ROW.match(lines[number]) for number in (first, second)]
    for number, row, other in zip((first, second), rows, reversed(rows), strict=True):
        assert row is not None
        assert other is not None
        lines[number] = f"{row['name']} = {other['target']}\n"
    return "".join(lines)


def _described(file: str, text: str, changed: str) -> Mutant:
    old, new = text.splitlines(), changed.splitlines()
    codes = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes()
    blocks = [code for code in codes if code[0] != "equal"]
    before = _joined(line for block in blocks for line in old[block[1] : block[2]])
    after = _joined(line for block in blocks for line in new[block[3] : block[4]])
    return Mutant(file, blocks[0][1] + 1, before, after, changed)


def _joined(lines: Iterable[str]) -> str:
    return " / ".join(line.strip() for line in lines if line.strip())
