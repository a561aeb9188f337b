"""The coverage table: built from tables and evidence, and written as text, Markdown and JSON."""

import json
import pathlib
import sys

import pytest

from morph.backends.tables import interfaces, package, table
from morph.backends.tables.decisions import decide
from morph.backends.tables.table import Status
from morph.evidence.coverage.evidence import Evidence, Rung, Seen, parse
from morph.evidence.coverage.matrix import Matrix, build
from tests import platforms
from tests.commands import status
from tests.evidence.shipped import dumps, replaced, seen_on
from tests.platforms import complete


@pytest.fixture(scope="module")
def matrices() -> list[Matrix]:
    return [build(interface=name) for name in interfaces.names()]


@pytest.fixture(scope="module")
def matrix(matrices: list[Matrix]) -> Matrix:
    return matrices[0]


def test_every_name_has_a_cell_on_every_backend(matrices: list[Matrix]) -> None:
    least = {"torch.cuda": 300, "apex": 1400, "flash_attn": 1200, "pynvml": 2300}
    assert least.keys() <= {each.interface for each in matrices}
    for matrix in matrices:
        names = [facts.name for facts in matrix.backends]
        assert names == table.backend_names()
        assert all(list(row.cells) == names for row in matrix.rows)
        public = sum(not row.private for row in matrix.rows)
        assert public > least.get(matrix.interface, 0)
        for name in names:
            assert sum(1 for _ in matrix.cells(name)) == public


def test_nearly_all_that_projects_use_is_served(matrices: list[Matrix]) -> None:
    served = {
        (each.interface, name): share for each in matrices for name, share in (each.shares or {}).items()
    }
    # projects also spell what xformers removed, as xformers.components; a TPU has no graphs or memory pools
    least = {("xformers", name): 90 for name in table.backend_names()} | {("torch.cuda", "tpu"): 96}
    assert not {place: share for place, share in served.items() if share < least.get(place, 99)}


def test_a_package_has_its_rows_on_every_backend(matrices: list[Matrix]) -> None:
    rows = {row.name: row for matrix in matrices for row in matrix.rows}
    adam, cute = rows["apex.optimizers.FusedAdam"], rows["flash_attn.cute.pipeline"]
    assert {cell.status for cell in adam.cells.values()} == {Status.EMULATED}
    assert (adam.module, rows["amp_C"].module, adam.private) == ("apex.optimizers", "amp_C", False)
    assert {cell.note for cell in cute.cells.values()} == {
        package.load("flash_attn").rows["flash_attn.cute.*"].note
    }
    assert package.load("flash_attn").decide("flash_attn.nothing").note.endswith("has no such name")


def test_cells_are_what_tables_and_evidence_say(matrix: Matrix) -> None:
    rows = {row.name: row.cells for row in matrix.rows}
    graph = rows["torch.cuda.CUDAGraph"]
    assert (graph["npu"].status, graph["npu"].target) == (Status.RENAMED, "torch.npu.NPUGraph")
    assert (graph["npu"].rung, graph["mlu"].rung) == (Rung.VENDOR_WHEEL, Rung.SIMULATED)
    assert (graph["cpu"].rung, graph["rocm"].rung) == (Rung.HARDWARE, Rung.RECORDED)
    assert (graph["cpu"].seen, graph["rocm"].seen) == (Seen.USED, None)
    gds = rows["torch.cuda.gds.GdsFile"]["npu"]
    assert gds.seen is Seen.REFUSED
    assert (gds.status, gds.note) == (Status.MISSING, decide(table.load("npu"), "torch.cuda.gds").note)


def test_a_name_that_no_row_decides_is_decided_by_the_surface() -> None:
    npu, cpu = table.load("npu"), table.load("cpu")
    same = decide(npu, "torch.cuda.memory_allocated")
    assert (same.status, same.target) == (Status.SAME, "torch.npu.memory_allocated")
    assert decide(npu, "torch.cuda.CUDAGraph.replay").target == "torch.npu.NPUGraph.replay"
    assert decide(npu, "torch.cuda.no_such_name").status is Status.MISSING
    assert decide(npu, "torch.backends.cudnn.enabled").note == "torch's own"
    assert decide(cpu, "torch.cuda.Stream.query").status is Status.SAME
    assert decide(cpu, "torch.cuda.gds.GdsFile").status is Status.MISSING


def test_evidence_stands_on_the_highest_rung_that_was_seen() -> None:
    seen = parse(
        '{"torch": "2.13.0", "used": {"cpu npu simulated-npu": {"": "a"}}, "existing": {}, '
        '"refused": {"simulated-mlu": {"": "a"}, "simulated-npu": {"": "b", "m.n": "c d"}}}'
    )
    rungs = [seen.rung("a", "cpu"), seen.rung("a", "npu"), seen.rung("a", "mlu"), seen.rung("a", "xpu")]
    assert rungs == [Rung.HARDWARE, Rung.VENDOR_WHEEL, Rung.SIMULATED, Rung.RECORDED]
    assert (seen.rung("b", "npu"), seen.rung("c", "npu")) == (Rung.SIMULATED, Rung.RECORDED)
    told = [seen.seen("a", "npu"), seen.seen("a", "mlu"), seen.seen("m.n.c", "npu"), seen.seen("a", "xpu")]
    assert told == [Seen.USED, Seen.REFUSED, Seen.REFUSED, None]
    other = replaced(seen, "simulated-npu", {"c": Seen.EXISTING})
    assert other.platforms == {
        "a": {"cpu": Seen.USED, "npu": Seen.USED, "simulated-mlu": Seen.REFUSED},
        "c": {"simulated-npu": Seen.EXISTING},
    }
    assert parse(dumps(other)) == other == Evidence("2.13.0", other.platforms)
    assert seen_on(other, "simulated-npu") == {"c": Seen.EXISTING}


def test_the_command(capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> None:
    for words in ([], ["--backend", "npu"], ["--backend", "npu", "--json"]):
        assert status("coverage", *words) == 0
        said = capsys.readouterr().out
        if "--json" in words:
            cuda, *packages = json.loads(said)["interfaces"]
            names = {each["name"]: each["backends"]["npu"] for each in cuda["names"]}
            assert names["torch.cuda.CUDAGraph"]["status"] == "renamed"
            assert [each["interface"] for each in packages] == interfaces.names()[1:]
            shares = {each["interface"]: each["backends"][0]["share"] for each in packages}
            assert all(shares[name] > 98 for name in ("apex", "flash_attn", "pynvml"))
        elif words:
            (line,) = (line for line in said.splitlines() if line.startswith("torch.cuda.CUDAGraph "))
            assert line.split() == [
                "torch.cuda.CUDAGraph",
                "npu",
                "renamed",
                "vendor",
                "wheel,",
                "used",
                "torch.npu.NPUGraph",
            ]
        else:
            lines = said.splitlines()
            assert lines[0].startswith("torch.cuda, torch 2.13.0: ")
            expected = ["backend", *table.backend_names()]
            assert [line.split()[0] for line in lines[1 : 1 + len(expected)]] == expected
            assert any(line.startswith("flash_attn, flash_attn 2.8") for line in lines)
    status("coverage", "--html", str(tmp_path / "coverage.html"))
    assert (tmp_path / "coverage.html").read_text().startswith("<!doctype html>")


def test_a_vendor_whose_package_is_broken_is_no_matter(tmp_path: pathlib.Path) -> None:
    (tmp_path / "torch_npu").mkdir()
    (tmp_path / "torch_npu" / "__init__.py").write_text("raise OSError('no driver')")
    environment = {**platforms.platform("npu", {}).environment}
    environment["PYTHONPATH"] = f"{tmp_path}:{environment['PYTHONPATH']}"
    command = [sys.executable, "-m", "morph", "coverage"]
    done = complete(command, env=environment)
    assert (done.returncode, done.stderr) == (0, "")
    assert "npu (Huawei Ascend)" in done.stdout


def test_attributes_of_values_are_served_as_the_values_are() -> None:
    npu = table.load("npu")
    assert decide(npu, "torch.backends.cuda.matmul.allow_tf32").status is not Status.MISSING
