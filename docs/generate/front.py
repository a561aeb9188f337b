"""The tables that the repository's reader sees too: the READMEs', and that of the rooms.

They are made of what the site's other pages are made of. ``python -m docs.generate.front`` writes them anew.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from docs.generate import architecture
from docs.generate.evidence import public, rungs, served
from docs.generate.figures import idioms, pytorch, record, runs
from docs.generate.rooms import ROOT
from docs.generate.tables import table
from morph.backends.tables.table import Facts
from morph.evidence.coverage.matrix import Matrix, build

COMMAND = "python -m docs.generate.front"
BEGIN, END = f"<!-- written by {COMMAND} -->\n", "<!-- end -->\n"


def main() -> None:
    """Write the tables into their pages."""
    for page in TABLES:
        (ROOT / page).write_text(written(page), encoding="utf-8")


def written(page: str) -> str:
    """Return a page with its table as it is now.

    Args:
        page: A name in ``TABLES``.
    """
    before, _, rest = (ROOT / page).read_text(encoding="utf-8").partition(BEGIN)
    return f"{before}{BEGIN}\n{TABLES[page]()}\n\n{END}{rest.partition(END)[2]}"


def front() -> str:
    """Return the table: what works, how much of it, and how we know."""
    matrix = build()
    rows = [_backend(matrix, facts) for facts in matrix.backends]
    rows += [_idioms(), _programs("repository", "public repositories")]
    rows += [_programs("stack", "whole stacks: serving, training, fine-tuning"), *_suites()]
    rows += [_pytorch(), _releases()]
    return table(["what", "works", "how we know"], rows)


def _backend(matrix: Matrix, facts: Facts) -> list[str]:
    names = f"{served(matrix, facts)} of {public(matrix)} names, {matrix.by_use(facts.name)} by use"
    return [f"{facts.title} (`{facts.name}`)", names, f"[names]({_page('index')}): {rungs(matrix, facts)}"]


def _idioms() -> list[str]:
    total, failing = idioms()
    held = {name: total - len(gaps) for name, gaps in failing.items()}
    works = f"{held['cpu']} of {total} on the CPU, {held['npu']} on torch_npu, {held['tpu']} on torch_tpu"
    return ["idioms of CUDA programs", works, f"[each an assertion]({_page('idioms')}) in morph's own tests"]


def _programs(kind: str, name: str) -> list[str]:
    rows = record("repositories")[kind]
    held = [sum(row.get(each) == "yes" for row in rows) for each in ("cpu", "npu")]
    works = f"{held[0]} of {len(rows)} on the CPU, {held[1]} on the real torch_npu"
    return [name, works, f"[run unchanged]({_page('repositories')}) at a pinned release or commit"]


def _suites() -> list[list[str]]:
    names = {
        "programs": "tests that others wrote for CUDA",
        "skipping": "tests that libraries skip without CUDA",
        "triton": "tests of kernels in Triton",
        "extensions": "tests of public CUDA C++ extensions",
    }
    return [_group(group, name) for group, name in names.items()]


def _group(group: str, name: str) -> list[str]:
    numbers = [(run.passed, run.of) for run in runs(group) if run.passed is not None and run.of]
    works = f"{sum(passed for passed, _ in numbers):,} of {sum(of for _, of in numbers):,} pass, on the CPU"
    return [name, works, f"[{len(numbers)} suites]({_page('suites')}), and why the others do not"]


def _pytorch() -> list[str]:
    device, vendor = pytorch().values(), pytorch("pytorch_npu").values()
    passed = sum(found["passed"] for found in device)
    lost = sum(len(found["failed"].get(reason, ())) for found in device for reason in ("kernel", "morph"))
    as_npu = sum(found["passed"] - found["skipped"] for found in vendor)
    as_cuda = as_npu - sum(len(ids) for found in vendor for ids in found["failed"].values())
    works = f"{passed:,} of {passed + lost:,} on the CPU, {as_cuda:,} of {as_npu:,} on the real torch_npu"
    return ["PyTorch's own tests", works, f"[file by file]({_page('pytorch')}), of those that could pass"]


def _releases() -> list[str]:
    rows = record("releases")["release"]
    found = [_range(row[name] for row in rows) for name in ("torch", "python")]
    works = f"torch {found[0]}, Python {found[1]}"
    return [
        "releases",
        works,
        f"[{len(rows)} combinations]({_page('releases')}) of torch, a vendor's package and Python",
    ]


def check() -> str:
    """Return the summary that ``morph check`` shows, as recorded."""
    screen = (ROOT / "tests/commands/screens/check.txt").read_text(encoding="utf-8")
    summary = screen.partition("\n\nto look at\n")[0]
    return f"```\n$ morph check train.py\n{summary}\n```"


def _range(versions: object) -> str:
    ordered = sorted({tuple(map(int, each.split(".")[:2])) for each in versions})  # type: ignore[attr-defined]
    return " to ".join(".".join(map(str, each)) for each in (ordered[0], ordered[-1]))


def _page(name: str) -> str:
    return f"docs/evidence/{name}.md"


TABLES: Mapping[str, Callable[[], str]] = {  # by the page, from the repository's root
    "README.md": front,
    "docs/internals/architecture.md": architecture.listing,
    "morph/source/scan/README.md": check,
}


if __name__ == "__main__":
    main()
