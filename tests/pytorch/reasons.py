"""Why tests fail: one reason for each."""

import dataclasses
import functools
import json
import pathlib
import re
from collections.abc import Iterable, Mapping

from morph.base import toml
from tests.platforms import REPOSITORY
from tests.pytorch.running import Result

REASONS = ("version", "hardware", "kernel", "morph")
CARD = REPOSITORY / "docs" / "evidence" / "pytorch_h100.json"  # a real GPU, of an earlier release of torch
_KERNEL = re.compile(r"not implemented for '|has no kernel for this device")
# of plain torch on the CPU, where a test divides by the number of devices or asks for one: nobody's fault
_WITHOUT_CUDA = re.compile(r"not compiled with CUDA|integer modulo by zero")


@dataclasses.dataclass(frozen=True)
class Rule:
    """A reason for the tests whose file and id, or whose message, fit a pattern."""

    reason: str
    why: str
    id: str = ""
    message: str = ""

    def fits(self, file: str, result: Result) -> bool:
        """Return whether the rule is about a result."""
        by_id = not self.id or re.search(self.id, f"{file}::{result.id}")
        return bool(by_id and (not self.message or re.search(self.message, result.why)))


def rules(name: str = "reasons.toml") -> list[Rule]:
    """Return the rules of a file beside this one."""
    text = (pathlib.Path(__file__).parent / name).read_text(encoding="utf-8")
    return [Rule(**rule) for rule in toml.loads(text)["rule"]]


@functools.cache
def fails_on_a_card(file: str) -> frozenset[str]:
    """Return the ids of a file's tests that fail on a real GPU, as far as they were run there."""
    files = json.loads(CARD.read_text(encoding="utf-8"))["files"]
    return frozenset(files.get(file, {}).get("failed", ()))


def sibling(name: str) -> str:
    """Return the id of the same test on the CPU."""
    return re.sub(r"_cuda(?=_|$)", "_cpu", name.replace("CUDA::", "CPU::").replace("GPUTest", "CpuTest"))


def reason(file: str, failed: Result, siblings: Mapping[str, Result], known: Iterable[Rule]) -> str:
    """Return why a test fails: "version", "hardware", "kernel" (the CPU has none for the dtype) or "morph".

    Args:
        file: The test file.
        failed: The result on the device.
        siblings: The results of plain torch on the CPU, by id; what fails there too is the version's fault.
        known: The rules.
    """
    for rule in known:
        if rule.fits(file, failed):
            return rule.reason
    if failed.id in fails_on_a_card(file):
        return "version"
    other = siblings.get(sibling(failed.id))
    if other and other.outcome == "failed" and not _WITHOUT_CUDA.search(other.why):
        return "version"
    return "kernel" if _KERNEL.search(failed.why) else "morph"
