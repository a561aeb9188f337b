"""Uses of torch that work on every backend, though not on each as on CUDA, found by the rules."""

from __future__ import annotations

import functools
from collections.abc import Iterator

from morph.source.scan.resolution import Resolution
from morph.source.scan.rules import Rule, rules
from morph.source.scan.uses import Found, Kind


def differences(resolution: Resolution) -> Iterator[Found]:
    """Yield each such use in a module."""
    chains = [(node, name) for node in resolution.chains for name in resolution.spelled(node)]
    used = {name for _, name in chains}
    for node, name in chains:
        for rule in _covering(name):
            if rule.is_said_of(name, used):
                yield Found(node, name, Kind.NOTE, rule.name)


@functools.cache
def _covering(name: str) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules().values() if rule.differs and rule.covers(name))
