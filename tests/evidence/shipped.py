"""The evidence file, as a run of the tests writes it."""

import json
from collections.abc import Mapping

from morph.evidence.coverage.evidence import Evidence, Seen


def seen_on(evidence: Evidence, platform: str) -> dict[str, Seen]:
    """Returns what was seen on a platform, by name."""
    return {name: on[platform] for name, on in evidence.platforms.items() if platform in on}


def replaced(evidence: Evidence, platform: str, seen: Mapping[str, Seen]) -> Evidence:
    """Returns the evidence with what was seen on one platform replaced by ``seen``."""
    others = {
        name: {each: what for each, what in on.items() if each != platform}
        for name, on in evidence.platforms.items()
    }
    for name, what in seen.items():
        others.setdefault(name, {})[platform] = what
    return Evidence(evidence.torch, {name: on for name, on in others.items() if on})


def dumps(evidence: Evidence) -> str:
    """Returns the text of the evidence file: by what was seen, by platforms and by module."""
    seen = {what.value: _where(evidence, what) for what in Seen}
    return json.dumps({"torch": evidence.torch, **seen}, indent=0) + "\n"


def _where(evidence: Evidence, what: Seen) -> dict[str, dict[str, str]]:
    """Returns the names of which ``what`` was seen, of each module in one string, by platforms."""
    kept: dict[str, dict[str, str]] = {}
    for name, on in sorted(evidence.platforms.items()):
        where = " ".join(sorted(platform for platform in on if on[platform] is what))
        owner, _, last = name.rpartition(".")
        modules = kept.setdefault(where, {})
        modules[owner] = f"{modules.get(owner, '')} {last}".strip()
    return dict(sorted((where, modules) for where, modules in kept.items() if where))
