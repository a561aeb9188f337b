"""The coverage page in a real browser: search and filters hide rows, and it fits wide and narrow windows."""

import html
import json
import pathlib
import re
import struct
from typing import Any

import pytest

from morph.backends.tables import interfaces, table
from morph.backends.tables.interfaces import is_private
from morph.evidence.coverage.matrix import Matrix, build
from morph.evidence.coverage.page import page
from tests.browser import browse

# Each view is the page in a frame; once all have loaded, what a reader would see is written into the page.
VIEWS = {
    "all": "",
    "search": "#q=cudagraph",
    "two words": "#q=graph+pool",
    "in a note": "#q=GPUDirect",
    "nothing": "#q=no_such_name_anywhere",
    "missing on npu": "#status=missing&backend=npu",
    "recorded": "#rung=recorded&backend=cpu,npu",
    "private": "#private=1",
    "opened": "#q=cudagraph&open=torch.cuda.CUDAGraph",
    "dark": "#theme=dark&q=cudagraph",
    "typed": "",
    "narrow": "#q=stream&open=torch.cuda.Stream",
    "package": "#of=flash_attn&status=emulated",
    "in a package": "#of=apex&q=fusedadam&open=apex.optimizers.FusedAdam",
}
FRAMES = """
<!doctype html>
<body>
{frames}
<pre id="seen"></pre>
<script>
function typed(page) {{
  page.getElementById("search").value = "cudagraph";
  page.querySelector("#statuses input[value=missing]").click();
  page.querySelector("tr.name").click();
}}
function seen(frame) {{
  const page = frame.contentDocument, text = (each) => each.textContent;
  if (frame.id === "typed") typed(page);
  const style = frame.contentWindow.getComputedStyle(page.body);
  return {{
    names: [...page.querySelectorAll("tr.name")].map((row) => row.dataset.name),
    lead: page.getElementById("lead").textContent,
    figures: [...page.querySelectorAll("#summary .figures")].map(text),
    columns: [...page.querySelectorAll("#heading th")].map(text),
    count: page.getElementById("count").value,
    details: [...page.querySelectorAll("tr.details")].map(text),
    nothing: !page.getElementById("nothing").hidden,
    hash: frame.contentWindow.location.hash,
    back: style.backgroundColor,
    overflow: page.documentElement.scrollWidth - page.documentElement.clientWidth,
  }};
}}
addEventListener("load", () => {{
  const frames = [...document.querySelectorAll("iframe")];
  const all = Object.fromEntries(frames.map((frame) => [frame.id, seen(frame)]));
  document.getElementById("seen").textContent = JSON.stringify(all);
}});
</script>
"""
FRAME = '<iframe id="{name}" src="coverage.html{address}" width="{width}" height="900"></iframe>'


@pytest.fixture(scope="module")
def matrix(matrices: list[Matrix]) -> Matrix:
    return matrices[0]


@pytest.fixture(scope="module")
def matrices() -> list[Matrix]:
    return [build(interface=name) for name in interfaces.names()]


@pytest.fixture(scope="module")
def folder(matrices: list[Matrix], tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    folder = tmp_path_factory.mktemp("page")
    (folder / "coverage.html").write_text(page(matrices), encoding="utf-8")
    return folder


@pytest.fixture(scope="module")
def views(folder: pathlib.Path) -> dict[str, dict[str, Any]]:
    """What the browser shows in each view."""
    widths = {name: 400 if name == "narrow" else 1280 for name in VIEWS}
    frames = [FRAME.format(name=name, address=html.escape(VIEWS[name]), width=widths[name]) for name in VIEWS]
    (folder / "views.html").write_text(FRAMES.format(frames="\n".join(frames)), encoding="utf-8")
    shown = browse(folder, "--dump-dom", (folder / "views.html").as_uri())
    found = re.search(r'<pre id="seen">(.+?)</pre>', shown, re.DOTALL)
    assert found, shown[-2000:]
    seen: dict[str, dict[str, Any]] = json.loads(html.unescape(found[1]))
    return seen


def test_all_public_names_are_there_at_first(views: dict[str, dict[str, Any]], matrix: Matrix) -> None:
    public = [row.name for row in matrix.rows if not row.private]
    assert sorted(views["all"]["names"]) == public
    assert views["all"]["columns"] == ["name", *(facts.name for facts in matrix.backends)]
    assert views["all"]["count"] == f"{len(public)} of {len(public)} names"
    assert len(views["private"]["names"]) == len(matrix.rows)


def test_search_hides_every_other_row(views: dict[str, dict[str, Any]]) -> None:
    found = views["search"]["names"]
    assert "torch.cuda.CUDAGraph" in found
    assert len(found) < 40
    assert all("graph" in name.lower() for name in found)
    assert views["two words"]["names"]
    assert len(views["two words"]["names"]) < len(views["all"]["names"])
    assert "torch.cuda.gds.GdsFile" in views["in a note"]["names"]
    assert (views["nothing"]["names"], views["nothing"]["nothing"]) == ([], True)


def test_filters_hide_rows_and_columns(views: dict[str, dict[str, Any]], matrix: Matrix) -> None:
    cells = {row.name: row.cells for row in matrix.rows if not row.private}
    missing = {name for name, of in cells.items() if of["npu"].status.value == "missing"}
    assert set(views["missing on npu"]["names"]) == missing
    assert views["missing on npu"]["columns"] == ["name", "npu"]
    recorded = {
        name for name, of in cells.items() if "recorded" in (of["cpu"].rung.value, of["npu"].rung.value)
    }
    assert set(views["recorded"]["names"]) == recorded


def test_a_row_opens_with_the_reasons(views: dict[str, dict[str, Any]]) -> None:
    (told,) = views["opened"]["details"]
    assert "torch.npu.NPUGraph" in told
    assert "Huawei Ascend" in told


def test_served_packages_have_views_of_their_own(
    views: dict[str, dict[str, Any]], matrices: list[Matrix]
) -> None:
    flash_attn = next(each for each in matrices if each.interface == "flash_attn")
    emulated = [row.name for row in flash_attn.rows if row.cells["cpu"].status.value == "emulated"]
    shown = views["package"]
    assert sorted(shown["names"]) == sorted(name for name in emulated if not is_private(name))
    assert shown["lead"].startswith("The names of flash_attn in flash_attn 2.8")
    assert shown["figures"][0].endswith(f", {flash_attn.shares['npu']:.2f} % by use")
    assert sorted(", ".join(shown["columns"]).split(", ")) == sorted(["name", *table.backend_names()])
    assert len(shown["columns"]) < 1 + len(flash_attn.backends)  # backends with the same cells share a column
    (told,) = views["in a package"]["details"]
    assert "apex's arithmetic" in told


def test_typing_and_clicking_change_rows_and_address(
    views: dict[str, dict[str, Any]], matrix: Matrix
) -> None:
    typed = views["typed"]
    statuses = {row.name: {cell.status.value for cell in row.cells.values()} for row in matrix.rows}
    assert typed["names"]
    assert all("missing" in statuses[name] for name in typed["names"])
    assert len(typed["details"]) == 1
    assert typed["hash"] == f"#q=cudagraph&status=missing&open={typed['names'][0]}"


def test_light_and_dark(views: dict[str, dict[str, Any]]) -> None:
    light, dark = (sum(map(int, re.findall(r"\d+", views[name]["back"])[:3])) for name in ("all", "dark"))
    assert light > 600 > 150 > dark


def test_it_fits_wide_and_narrow_windows(views: dict[str, dict[str, Any]]) -> None:
    assert {name: view["overflow"] for name, view in views.items() if view["overflow"] > 0} == {}
    assert views["narrow"]["details"]


def test_it_is_drawn(folder: pathlib.Path) -> None:
    image = folder / "page.png"
    browse(folder, f"--screenshot={image}", "--window-size=1280,900", (folder / "coverage.html").as_uri())
    content = image.read_bytes()
    assert struct.unpack(">II", content[16:24]) == (1280, 900)
    assert len(content) > 50_000  # an empty page is 5 KB


def test_it_needs_nothing_beside_itself(matrices: list[Matrix]) -> None:
    text = page(matrices)
    assert re.findall(r"""(?:src|href)=|@import|url\(|fetch\(""", text) == []
    assert len(text) < 600_000
