"""Which CUDA names the tests try on each platform, and the trial of all of them in one process."""

import ast
import builtins
import dataclasses
import inspect
import json
import pathlib
import warnings
from collections.abc import Mapping
from typing import Any

import pytest
import torch

from morph.backends import active, resolve
from morph.backends.tables import interfaces, table
from morph.backends.tables.decisions import ROOT, decide
from morph.backends.tables.interfaces import is_private
from morph.backends.tables.table import Status
from morph.base import toml
from morph.evidence.coverage.evidence import Seen
from tests.platforms import CUDA

EXERCISES = toml.loads(pathlib.Path(__file__).with_name("exercises.toml").read_text(encoding="utf-8"))
KINDS = {seen.value for seen in Seen}


@dataclasses.dataclass(frozen=True)
class Plan:
    """What is tried on one platform.

    Attributes:
        uses: Source code that uses a name, by name.
        existing: The names with which nothing can be done.
        aliases: The name in the module above of the same object, by name in a submodule.
        refusals: The names that the backend's table marks as missing.
        unexplained: Public names that are not tried and have no reason for that.
    """

    uses: Mapping[str, str]
    existing: tuple[str, ...]
    aliases: Mapping[str, str]
    refusals: tuple[str, ...]
    unexplained: tuple[str, ...]


def plan(platform: str) -> Plan:
    """Returns what is tried on a platform.

    Args:
        platform: Its name, "npu" or "simulated-npu".
    """
    platform = "cpu" if platform == CUDA else platform
    backend = table.load(platform.removeprefix("simulated-"))
    statuses = {name: decide(backend, name).status for name in interfaces.load(ROOT).names}
    served = {name for name, status in statuses.items() if status is not Status.MISSING}
    untried = _of(platform, "untried")
    existing = served & _of(platform, "existing").keys()
    aliases = {name: above for name in served if (above := _above(name)) in served}
    sources = EXERCISES["uses"] | _of(platform, "instead")
    left = served - {*untried, *aliases, *existing}
    uses = {name: source for name, source in sources.items() if name in left}
    left -= uses.keys()
    unexplained = sorted(name for name in left if not is_private(name))
    same = {name: above for name, above in aliases.items() if above in uses}
    # where torch.cuda is torch's own, a name that its software lacks exists, and raises when it is used
    refusals = set() if backend.facts.native_cuda else statuses.keys() - served - untried.keys()
    return Plan(uses, tuple(existing), same, tuple(sorted(refusals)), tuple(unexplained))


def run(platform: str, results: pathlib.Path) -> None:
    """Tries what is planned for a platform, in a process on it, and writes each name's outcome.

    Args:
        platform: Its name.
        results: The file to write, which has what was seen of each name, or its error.
    """
    planned = plan(platform)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        shown = {name: _outcome(Seen.USED, _use, source) for name, source in sorted(planned.uses.items())}
        shown |= {name: _outcome(Seen.EXISTING, resolve, name) for name in planned.existing}
        shown |= {name: _outcome(Seen.USED, _same, name, above) for name, above in planned.aliases.items()}
        shown |= {name: _outcome(Seen.REFUSED, _refused, name) for name in planned.refusals}
    results.write_text(json.dumps(shown))


def _of(platform: str, section: str) -> dict[str, str]:
    """Returns the entries of a section for a platform; the more specific ones override the others."""
    backend = platform.removeprefix("simulated-")
    where = [f"wheel-{backend}"] if platform == backend else ["simulated", platform]
    kinds = ["all", backend, *where]
    return {name: text for kind in kinds for name, text in EXERCISES.get(section, {}).get(kind, {}).items()}


def _above(name: str) -> str | None:
    submodule, _, last = name.rpartition(".")
    above = EXERCISES["aliases"].get(submodule)
    return f"{above}.{last}" if above else None


def _outcome(seen: Seen, trial: Any, *arguments: str) -> str:
    try:
        trial(*arguments)
    except (Exception, pytest.fail.Exception) as error:
        return f"{type(error).__name__}: {error}"
    return seen.value


def _use(source: str) -> None:
    names: dict[str, Any] = {
        "torch": torch,
        "pytest": pytest,
        "backend": active(),
        "vendor": getattr(active(), "namespace", None),  # a real GPU has neither
        "LAST": torch.cuda.device_count() - 1,
        "__name__": "__main__",
        "__builtins__": builtins,
    }
    if _is_expression(source):
        assert eval(source, names), source
    else:
        exec(source, names)


def _same(name: str, above: str) -> None:
    assert resolve(name) is resolve(above)


def _refused(name: str) -> None:
    """Checks that a name does not exist; a missing module exists, without any name in it."""
    try:
        found = resolve(name)
    except AttributeError:
        return
    assert inspect.ismodule(found), f"{name} is {found!r}"
    held = [each for each in dir(found) if not each.startswith("_")]
    assert [each for each in held if not inspect.ismodule(getattr(found, each))] == []


def _is_expression(source: str) -> bool:
    try:
        ast.parse(source, mode="eval")
    except SyntaxError:
        return False
    return True
