"""The same judge for a vendor: what passes as "npu" on torch_npu alone must pass as "cuda" under morph.

``python -m tests.pytorch.vendor TREE test_torch.py`` runs a file on both, over the soft CANN; ``--record``
writes what came of it into docs/evidence/pytorch_npu.json.
"""

import argparse
import dataclasses
import datetime
import pathlib
import re
import sys
from collections.abc import Mapping

from tests.ascend import build as soft_cann
from tests.platforms import REPOSITORY
from tests.pytorch import record
from tests.pytorch.reasons import rules
from tests.pytorch.running import Judge, Result

RECORD = REPOSITORY / "docs" / "evidence" / "pytorch_npu.json"
PASSED = "passed", "xfailed"


@dataclasses.dataclass(frozen=True)
class Comparison:
    """How a file's tests end on the vendor's package alone, and under morph.

    Attributes:
        date: The day of the run.
        commit: morph's commit.
        passed: How many tests pass as the vendor's device.
        skipped: How many of these are skipped as "cuda".
        failed: The ids of those that fail as "cuda", by reason: "cuda" (it fails on the software device too,
            or asks of "cuda" what it asks of no other device), "vendor" (the vendor's package has not, or
            does not, what CUDA's has or does) or "morph".
    """

    date: str
    commit: str
    passed: int
    skipped: int
    failed: dict[str, list[str]]


def twin(name: str) -> str:
    """Return the id of the same test as "cuda".

    >>> twin("TestTorchDeviceTypePRIVATEUSE1::test_cov_npu_float32")
    'TestTorchDeviceTypeCUDA::test_cov_cuda_float32'
    """
    return re.sub(r"_npu(?=_|$)", "_cuda", name.replace("PRIVATEUSE1::", "CUDA::"))


def reason(file: str, failed: Result) -> str:
    """Return why a test fails as "cuda" that passes as the vendor's device."""
    for rule in rules("vendor.toml"):
        if rule.fits(file, failed):
            return rule.reason
    return "cuda" if failed.id in record.failing(file) else "morph"


def alone_and_under_morph(
    tree: pathlib.Path, results: pathlib.Path, cann: Mapping[str, str], processes: int
) -> tuple[Judge, Judge]:
    """Return the judges of torch_npu alone and under morph, by the variables of the soft CANN."""
    variables = {**cann, "MORPH_BACKEND": "npu", "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"}
    devices = "privateuse1", "cuda"
    alone, under_morph = (Judge(tree, results, each, processes, variables=variables) for each in devices)
    return alone, under_morph


def compare(file: str, alone: Judge, under_morph: Judge) -> Comparison:
    """Run a file's tests on the vendor's package alone, and under morph those that pass there."""
    as_cuda = set(under_morph.collected(file))
    shared = [name for name in alone.collected(file) if twin(name) in as_cuda]
    passed = {twin(result.id) for result in alone.run(file, shared) if result.outcome in PASSED}
    results = [result for result in under_morph.run(file, sorted(passed)) if result.id in passed]
    failed: dict[str, list[str]] = {}
    for result in results:
        if result.outcome == "failed":
            failed.setdefault(reason(file, result), []).append(result.id)
            print(f"  {result.id}: {result.why[:160]}")
    skipped = sum(result.outcome == "skipped" for result in results)
    ordered = {why: sorted(ids) for why, ids in sorted(failed.items())}
    return Comparison(datetime.date.today().isoformat(), record.commit(), len(results), skipped, ordered)


def main() -> int:
    """Compare the files one by one; the exit status is 1 if a test fails by morph's fault."""
    parser = argparse.ArgumentParser(prog="python -m tests.pytorch.vendor", description=__doc__)
    parser.add_argument("tree", type=pathlib.Path, help="the source tree of a release of PyTorch")
    parser.add_argument("files", nargs="+", help="test files, from the tree's folder test")
    parser.add_argument("--results", type=pathlib.Path, default=REPOSITORY / "build" / "pytorch-npu")
    parser.add_argument("--processes", type=int, default=2, help="workers at a time")
    parser.add_argument("--record", action="store_true", help="write docs/evidence/pytorch_npu.json")
    options = parser.parse_args()
    tree, results = options.tree.resolve(), options.results.resolve()
    variables = soft_cann.environment(soft_cann.build(print))
    judges = alone_and_under_morph(tree, results, variables, options.processes)
    faults = 0
    for file in options.files:
        found = compare(file, *judges)
        faults += len(found.failed.get("morph", ()))
        print(f"{file}: {found}", flush=True)
        if options.record:
            record.write(file, found, RECORD)
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
