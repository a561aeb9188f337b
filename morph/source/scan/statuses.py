"""The status of a use of CUDA on each backend."""

from __future__ import annotations

import dataclasses
import functools

from morph.backends.tables import table
from morph.backends.tables.decisions import decide
from morph.backends.tables.rows import Row, Status, Table
from morph.backends.tables.variables import Variable
from morph.backends.visibility import CUDA_VARIABLE
from morph.source.scan.names import is_known, package_of
from morph.source.scan.rules import Rule, rules
from morph.source.scan.uses import Kind, Use

DIFFERENCES = (Status.EMULATED, Status.NOOP, Status.MISSING)
"""The statuses of names that differ from CUDA's."""


@dataclasses.dataclass(frozen=True, slots=True)
class Answer:
    """The answer of one backend for one use.

    Attributes:
        status: As in the tables; None where morph does not serve it at all.
        note: The object that serves it, the difference, or why it is missing, in one clause.
        look: Whether it needs a person's attention for this backend.
    """

    status: Status | None
    note: str = ""
    look: bool = False

    @property
    def differs(self) -> bool:
        """Whether the backend emulates it, does nothing, lacks it, or does otherwise than CUDA."""
        return self.status in DIFFERENCES or (self.status is None and not self.look and bool(self.note))


class Answers(dict[str, Answer]):
    """The answers by the name of the backend; one object for all uses that are answered alike."""

    @functools.cached_property
    def look(self) -> bool:
        """Whether it needs a person's attention on any of the backends."""
        return any(each.look for each in self.values())

    @functools.cached_property
    def differs(self) -> bool:
        """Whether a backend emulates it, does nothing, lacks it, or does otherwise than CUDA."""
        return any(each.differs for each in self.values())


def answers(use: Use, backends: tuple[str, ...]) -> Answers:
    """Return the answers of ``backends`` for ``use``."""
    return _answers(use.name, use.kind, use.rule, backends)


@functools.cache
def _answers(name: str, kind: Kind, rule: str, backends: tuple[str, ...]) -> Answers:
    if rule:
        return Answers({each: _of_rule(rules()[rule], name, each) for each in backends})
    return Answers({each: _answer(name, kind, each) for each in backends})


def _of_rule(rule: Rule, name: str, backend: str) -> Answer:
    facts = table.facts(backend)
    if rule.differs:
        return Answer(None, rule.difference(facts))
    if backend in rule.works_on:
        return Answer(None)
    if backend in rule.works:
        return Answer(None, rule.works[backend])
    note = rule.on.get(backend) or rule.packages.get(name, rule.says)
    return Answer(None, note, look=True)


def _answer(name: str, kind: Kind, backend: str) -> Answer:
    chosen = table.load(backend)
    match kind:
        case Kind.NAME:
            return _of_name(name, chosen)
        case Kind.PROBE:
            return dataclasses.replace(_of_name(name, chosen), look=False)
        case Kind.PACKAGE:
            return _of_package(name)
        case Kind.VARIABLE:
            return _of_variable(name, chosen)
    return _of_spelling(kind, chosen)


def _of_name(name: str, chosen: Table) -> Answer:
    if not is_known(name):
        return Answer(Status.MISSING, "torch 2.13 has no such name", look=True)
    row = chosen.row(name) or _of_owner(name, chosen) or decide(chosen, name)
    note = row.note or (row.target if row.status is Status.RENAMED else "")
    return Answer(row.status, note, look=row.status is Status.MISSING)


def _of_owner(name: str, chosen: Table) -> Row | None:
    """Return the row for a name without one, where ``decide`` would have to import torch or an adapter."""
    owner = chosen.rows.get(name.rpartition(".")[0])
    if owner is not None and owner.status in (Status.ADAPTED, Status.EMULATED):
        return Row(name, owner.status, note=owner.note)
    return None if chosen.facts.surface else Row(name, Status.SAME)


def _of_package(name: str) -> Answer:
    package = package_of(name)
    assert package is not None
    if package.missing(name):
        row = package.missing(name)
        return Answer(Status.MISSING, row.note if row else "", look=True)
    owner = name
    while owner and owner not in package.rows:
        owner = owner.rpartition(".")[0]
    found = package.rows.get(owner)
    return Answer(found.status, found.note) if found else Answer(Status.SAME, f"{package.name} is served")


def _of_variable(name: str, chosen: Table) -> Answer:
    facts = chosen.facts
    if name == CUDA_VARIABLE:
        target = facts.visible_devices or (CUDA_VARIABLE if facts.native_cuda else "")
        return _carried(Variable(name, target, needless="" if target else "there is one device"))
    variable = chosen.environment.get(name)
    if variable is None:
        return Answer(Status.SAME if facts.native_cuda else Status.NOOP)
    return _carried(variable)


def _carried(variable: Variable) -> Answer:
    if not variable.target:
        return Answer(Status.NOOP, variable.ignored or variable.needless)
    renamed = variable.target != variable.name
    return Answer(Status.RENAMED if renamed else Status.SAME, variable.target if renamed else "")


def _of_spelling(kind: Kind, chosen: Table) -> Answer:
    facts = chosen.facts
    if facts.native_cuda:
        return Answer(Status.SAME)
    if kind is Kind.COMPARISON:
        if facts.literals:
            return Answer(Status.ADAPTED, f"accepts {facts.device_type!r} and {facts.collective!r} too")
        return Answer(Status.SAME, f"the branch for {facts.title} is taken")
    target = facts.collective if kind is Kind.COLLECTIVE else facts.device_type
    return Answer(Status.RENAMED, target)
