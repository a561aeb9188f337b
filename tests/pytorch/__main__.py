"""Runs PyTorch's own tests on the software device: `python -m tests.pytorch TREE test_torch.py test_nn.py`.

TREE is the source tree of a release, as in a distribution's source package. A run that was stopped goes on
where it was. What fails is run on plain torch's CPU too, which tells whose fault it is; `--record` writes the
outcome of the named files into docs/evidence/pytorch.json. `--again` runs what fails by the record, and
takes what fails no longer out of it. `--sample 40` runs 40 tests of each of 30 recorded files and two of
each of eight files of several processes, always the same for a `--seed`, and compares them with the record.
"""

import argparse
import pathlib
import sys

from tests.platforms import REPOSITORY
from tests.pytorch import record
from tests.pytorch.reasons import sibling
from tests.pytorch.running import DISTRIBUTED, Judge, sample


def main() -> int:
    """Run the files one by one; the exit status is 1 if a test fails by morph's fault, or not as recorded."""
    options = _options()
    if options.again:
        return _again(options)
    return _compare(options) if options.sample else _run(options)


def _compare(options: argparse.Namespace) -> int:
    folder = options.results / f"sample{options.seed}"
    judge = Judge(options.tree, folder, "cuda", options.processes, options.limit)
    changes = 0
    for file in options.files or _sampled(record.files(), options.seed):
        # a test of several processes takes as long as twenty others
        count = options.sample // 20 if file.startswith(DISTRIBUTED) else options.sample
        results = judge.run(file, sample(judge.collected(file), count, options.seed))
        changed = record.changed(file, results)
        changes += len(changed)
        print(f"{file}: {len(results)} tests, changed: {', '.join(changed) or 'none'}", flush=True)
    return 1 if changes else 0


def _sampled(files: list[str], seed: str) -> list[str]:
    """Return some of the files, and fewer of those of several processes, which take most of the time."""
    several = [file for file in files if file.startswith(DISTRIBUTED)]
    return [*sample([file for file in files if file not in several], 30, seed), *sample(several, 8, seed)]


def _again(options: argparse.Namespace) -> int:
    judge = Judge(options.tree, options.results / "again", "cuda", options.processes, options.limit)
    for file in options.files or record.files():
        judge.forget(file)
        results = judge.run(file, record.failing(file)) if record.failing(file) else []
        changed = record.changed(file, results)
        record.amend(file, results)
        print(f"{file}: {len(results)} tests, changed: {', '.join(changed) or 'none'}", flush=True)
    return 0


def _run(options: argparse.Namespace) -> int:
    on_device = Judge(options.tree, options.results, "cuda", options.processes, options.limit)
    on_cpu = Judge(options.tree, options.results, "cpu", options.processes, options.limit)
    faults = 0
    for file in options.files:
        results = [] if options.only_record else on_device.run(file)
        if failed := [sibling(result.id) for result in results if result.outcome == "failed"]:
            on_cpu.run(file, failed)
        tests = len(on_device.collected(file))
        found = record.outcome(file, on_device.results(file), on_cpu.results(file), tests)
        faults += len(found.failed.get("morph", ()))
        print(f"{file}: {found}", flush=True)
        if options.record:
            record.write(file, found)
    return 1 if faults else 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.pytorch", description=__doc__)
    parser.add_argument("tree", type=pathlib.Path, help="the source tree of a release of PyTorch")
    parser.add_argument("files", nargs="*", help="test files, from the tree's folder test")
    parser.add_argument(
        "--results", type=pathlib.Path, default=REPOSITORY / "build" / "pytorch", help="a folder"
    )
    parser.add_argument("--processes", type=int, default=2, help="workers at a time")
    parser.add_argument("--limit", type=int, default=60, help="seconds for each test")
    parser.add_argument(
        "--again", action="store_true", help="run what fails by the record, and keep it up to date"
    )
    parser.add_argument("--record", action="store_true", help="write docs/evidence/pytorch.json")
    parser.add_argument("--only-record", action="store_true", help="run nothing, and record what is there")
    parser.add_argument(
        "--sample", type=int, metavar="N", help="compare N tests of each file with the record"
    )
    parser.add_argument("--seed", default="", help="draws another sample")
    options = parser.parse_args()
    options.tree, options.results = options.tree.resolve(), options.results.resolve()
    options.record |= options.only_record
    return options


if __name__ == "__main__":
    sys.exit(main())
