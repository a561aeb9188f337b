"""The tables of the pages on evidence, as Markdown."""

from __future__ import annotations

import datetime
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

from docs.generate import figures
from docs.generate.figures import Run, idioms, record, runs
from docs.generate.tables import table
from morph.backends.tables import interfaces
from morph.backends.tables.decisions import ROOT
from morph.backends.tables.table import Facts, Status
from morph.evidence.coverage.evidence import Rung, Seen
from morph.evidence.coverage.matrix import Matrix, build


def suites() -> str:
    """Return the runs of other people's suites, and of comparisons of our own, by group."""
    parts = []
    for group, title in record("suites")["groups"].items():
        rows = [
            [_suite(run), _passed(run.passed, run.of), _when(run.date, run.commit)] for run in runs(group)
        ]
        parts += [f"## {title}", table(["suite", "passed", "recorded"], rows)]
    return "\n\n".join(parts)


REASONS = ("version", "hardware", "kernel", "morph")


def pytorch() -> str:
    """Return the outcome of PyTorch's own tests, file by file, with the share that passes of what could."""
    rows = [_file(name, found) for name, found in figures.pytorch().items()]
    return table(["file", "passed", "skipped", "not run", *REASONS, "share", "recorded"], rows)


def card() -> str:
    """Return how the outcomes on a real GPU differ from those on the software device, file by file."""
    rows = []
    for name, found in figures.pytorch("pytorch_h100")["files"].items():
        here = {test for ids in figures.pytorch()[name]["failed"].values() for test in ids}
        there = set(found["failed"])
        counts = (len(here & there), len(there - here))
        rows.append([name, f"{found['run']:,}", *(f"{count:,}" if count else "" for count in counts)])
    return table(["file", "run there", "fail on both", "fail there only"], rows)


def vendor() -> str:
    """Return how the tests that pass as "npu" on torch_npu alone end as "cuda" under morph, file by file."""
    reasons = ("cuda", "vendor", "morph")
    rows = []
    for name, found in figures.pytorch("pytorch_npu").items():
        failed = [len(found["failed"].get(reason, ())) for reason in reasons]
        held = found["passed"] - found["skipped"] - sum(failed)
        others = (found["skipped"], *failed)
        day = datetime.date.fromisoformat(found["date"])
        counts = [f"{count:,}" if count else "" for count in (found["passed"], held, *others)]
        rows.append([name, *counts, _when(day, found["commit"])])
    return table(["file", "passed as npu", "as cuda too", "skipped", *reasons, "recorded"], rows)


def _file(name: str, found: Mapping[str, Any]) -> list[str]:
    counts = {reason: len(found["failed"].get(reason, ())) for reason in REASONS}
    owed = found["passed"] + counts["kernel"] + counts["morph"]
    share = f"{100 * found['passed'] / owed:.1f} %" if owed else ""
    day = datetime.date.fromisoformat(found["date"])
    others = [f"{count:,}" if count else "" for count in (found.get("left", 0), *counts.values())]
    return [
        name,
        f"{found['passed']:,}",
        f"{found['skipped']:,}",
        *others,
        share,
        _when(day, found["commit"]),
    ]


def repositories() -> str:
    """Return the public repositories that were run."""
    rows = [
        [
            f"**{row['repository']}** at {row['at']}<br>{row['run']}<br>*{row['numbers']}*",
            row["cpu"],
            row["npu"],
            _when(row["date"], row["commit"]),
        ]
        for row in record("repositories")["repository"]
    ]
    return table(["repository, command, *numbers*", "cpu", "npu", "recorded"], rows)


def stacks() -> str:
    """Return the stacks for serving, fine-tuning and pre-training that were run."""
    rows = [
        [
            f"**{row['stack']}** {row['at']}<br>{row['run']}<br>*{row['numbers']}*{_rest(row)}",
            row["devices"],
            row["cpu"],
            row.get("npu", ""),
            row.get("tpu", ""),
            str(row["seconds"]),
            _when(row["date"], row["commit"]),
        ]
        for row in record("repositories")["stack"]
    ]
    return table(["stack, command, *numbers*", "devices", "cpu", "npu", "tpu", "seconds", "recorded"], rows)


def releases() -> str:
    """Return the combinations of releases that were tested."""
    of = record("releases")["idioms"]["of"]
    rows = [
        [
            _combination(row),
            _passed(row.get("passed"), row.get("of")),
            _passed(row.get("idioms"), of),
            _passed(row.get("ported"), row.get("ported_of")),
            _when(row["date"], row["commit"]),
        ]
        for row in record("releases")["release"]
    ]
    return table(["releases", "tests", "idioms, cpu", "idioms, npu", "recorded"], rows)


def speed() -> str:
    """Return the measured ratios, by group."""
    parts = []
    for group, title in record("speed")["groups"].items():
        parts += [f"## {title}", record("speed")["notes"][group], _ratios(record("speed")[group])]
    return "\n\n".join(parts)


def backends() -> str:
    """Return how much of torch.cuda each backend serves."""
    matrix = build()
    rows = [
        [_backend(facts), served(matrix, facts), matrix.by_use(facts.name), rungs(matrix, facts)]
        for facts in matrix.backends
    ]
    return table(["backend", f"public names, of {public(matrix)}", "by use", "evidence"], rows)


def rungs(matrix: Matrix, facts: Facts) -> str:
    """Return the evidence for a backend's names, the strongest first: "simulated (250 used, 2 refused)"."""
    counts = Counter((cell.rung, cell.seen) for cell in matrix.cells(facts.name))
    found = {
        rung: {seen: counts[rung, seen] for seen in (*Seen, None) if counts[rung, seen]} for rung in Rung
    }
    return ", ".join(f"{_rung(rung, facts)} ({_counted(of)})" for rung, of in found.items() if of)


def _counted(seen: Mapping[Seen | None, int]) -> str:
    return ", ".join(f"{count} {what.value}" if what else str(count) for what, count in seen.items())


def packages() -> str:
    """Return the served packages, and how many of their names work."""
    rows = []
    for name in interfaces.names():
        if name != ROOT:
            matrix = build(interface=name)
            first = matrix.backends[0]
            release = matrix.release.rpartition(" ")[2]
            count = _passed(served(matrix, first), public(matrix))
            rows.append([f"`{name}`", release, count, matrix.by_use(first.name)])
    return table(["package", "interface of release", "names served", "by use"], rows)


def holding() -> str:
    """Return how many idioms of CUDA programs hold on each platform."""
    total, failing = idioms()
    rows = [[f"`{name}`", f"{total - len(gaps)} of {total}"] for name, gaps in failing.items()]
    return table(["platform", "idioms that hold"], rows)


def gaps() -> str:
    """Return the reasons for the idioms that do not hold."""
    reasons: dict[str, dict[str, list[str]]] = {}
    for platform, failing in idioms()[1].items():
        for idiom, reason in failing.items():
            reasons.setdefault(reason, {}).setdefault(idiom, []).append(platform)
    rows = [
        [reason, ", ".join(f"`{name}`" for name in found), ", ".join(dict.fromkeys(sum(found.values(), [])))]
        for reason, found in reasons.items()
    ]
    return table(["why", "idioms", "platforms"], rows)


def _rest(row: Mapping[str, Any]) -> str:
    return f"<br>{row['rest']}" if "rest" in row else ""


def _suite(run: Run) -> str:
    part = f": {run.part}" if run.part else ""
    more = "".join(f"<br>*{text}*" for text in (run.shown, run.rest) if text)
    return f"**{run.suite}** {run.release}{part}{more}"


def _passed(passed: int | None, of: int | None) -> str:
    return "" if passed is None else f"{passed:,} of {of:,}"


def _when(date: datetime.date, commit: str) -> str:
    return f"{date} `{commit}`"


def _combination(row: Mapping[str, Any]) -> str:
    vendor = "".join(f", {each} {row[each]}" for each in ("torch_npu", "torch_tpu") if each in row)
    rest = f"<br>*{row['rest']}*" if "rest" in row else ""
    return f"torch {row['torch']} ({row['build']}){vendor}, Python {row['python']}{rest}"


def _ratios(rows: Sequence[Mapping[str, Any]]) -> str:
    is_compared = any("transfer" in row for row in rows)
    heading = ["work", "measured", *(["`transfer_to_npu`"] if is_compared else []), "recorded"]
    return table(heading, [_measured(row, is_compared) for row in rows])


def _measured(row: Mapping[str, Any], is_compared: bool) -> list[str]:
    against = f", against {row['against']}" if "against" in row else ""
    others = [_ratio(row["transfer"]) if "transfer" in row else ""] if is_compared else []
    measured = row["told"] if "told" in row else _ratio(row["ratio"])
    return [f"{row['work']}{against}", measured, *others, _when(row["date"], row["commit"])]


def _ratio(value: float | Sequence[float]) -> str:
    least_and_most = value if isinstance(value, list) else [value]
    return " to ".join(f"{each:.2f}" for each in least_and_most)


def _backend(facts: Facts) -> str:
    package = f", {facts.distribution} {facts.releases}" if facts.distribution and facts.releases else ""
    return f"{facts.title} (`{facts.name}`{package})"


def served(matrix: Matrix, facts: Facts) -> int:
    """Return how many public names a backend serves."""
    return sum(cell.status is not Status.MISSING for cell in matrix.cells(facts.name))


def public(matrix: Matrix) -> int:
    """Return how many public names there are."""
    return sum(1 for _ in matrix.cells(matrix.backends[0].name))


def _rung(rung: Rung, facts: Facts) -> str:
    return "the software device" if facts.name == "cpu" and rung is Rung.HARDWARE else rung.value
