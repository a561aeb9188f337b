"""The site is built without a broken link, its generated parts are filled in, and every page fits a phone."""

import html
import json
import pathlib
import re
import sys

import pytest

from docs.generate import figures
from docs.generate.rooms import rooms
from morph.backends.tables import interfaces
from morph.evidence.coverage.matrix import build
from morph.evidence.coverage.page import page
from tests import platforms
from tests.browser import browse
from tests.platforms import REPOSITORY, describe

PHONE = 390
# Each page is loaded in a frame as wide as a phone; what is wider and does not scroll by itself is cut off.
FRAME = """
<!doctype html>
<body>
<iframe width="{width}" height="900"></iframe>
<pre id="seen"></pre>
<script>
const frame = document.querySelector("iframe"), pages = {pages}, seen = {{}};
function scrolls(each) {{
  for (let at = each; at; at = at.parentElement) {{
    if (/auto|scroll/.test(frame.contentWindow.getComputedStyle(at).overflowX)) return true;
  }}
  return false;
}}
function cut(page) {{
  const shown = [...page.querySelectorAll("article *")].filter((each) => !each.closest(".headerlink, svg"));
  const wide = shown.filter((each) => each.getBoundingClientRect().right > {width} + 1 && !scrolls(each));
  return wide.slice(0, 3).map((each) => each.outerHTML.slice(0, 120));
}}
frame.addEventListener("load", () => {{
  const page = frame.contentDocument;
  if (frame.src) {{
    const over = page.documentElement.scrollWidth - page.documentElement.clientWidth;
    seen[frame.src] = {{ over, cut: cut(page) }};
  }}
  if (pages.length) frame.src = pages.pop();
  else document.getElementById("seen").textContent = JSON.stringify(seen);
}});
frame.src = pages.pop();
</script>
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The built site; a broken link or anchor fails the build."""
    folder = tmp_path_factory.mktemp("site")
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", "docs/mkdocs.yml"]
    environment = platforms.platform("cpu", {}).environment
    done = platforms.complete([*mkdocs, "-d", str(folder)], env=environment, cwd=REPOSITORY, timeout=300)
    assert done.returncode == 0, describe(done)
    return folder


def text(site: pathlib.Path, name: str) -> str:
    return (site / name / "index.html").read_text(encoding="utf-8")


def test_every_page_is_there_under_its_title(site: pathlib.Path) -> None:
    written = [*REPOSITORY.glob("docs/*.md"), *REPOSITORY.glob("docs/*/*.md")]
    assert len(written) > 15
    for file in written:
        title = file.read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
        place = file.relative_to(REPOSITORY / "docs").with_suffix("")
        assert f">{title}<" in text(site, str(place).removesuffix("index")), place


def test_every_room_has_a_page_in_the_picture(site: pathlib.Path) -> None:
    picture = text(site, "internals/architecture").partition("<svg class")[2].partition("</svg>")[0]
    pages = [room.path for room in rooms().values() if room.page]
    assert "morph/software" in pages
    for path in pages:
        assert f'href="../../{path}/"' in picture
        assert "Its place in the house" in text(site, path)


def test_generated_parts_are_filled_in(site: pathlib.Path) -> None:
    pages = {file: file.read_text(encoding="utf-8") for file in site.rglob("index.html")}
    assert [file for file, shown in pages.items() if "{{ " in shown or "--8&lt;" in shown] == []
    assert "this needs a GPU" in text(site, "tutorial")
    suites = text(site, "evidence/suites")
    for group in figures.record("suites")["groups"]:
        for run in figures.runs(group):
            assert run.commit in suites
    assert "usage: morph check" in text(site, "reference/commands")
    assert "MORPH_DEVICE_MEMORY" in text(site, "reference/api")


def test_the_coverage_page_is_in_it(site: pathlib.Path) -> None:
    matrices = [build(interface=name) for name in interfaces.names()]
    assert (site / "coverage.html").read_text(encoding="utf-8") == page(matrices)
    assert 'href="coverage.html"' in text(site, "")


def test_programs_that_are_linked_to_are_in_it(site: pathlib.Path) -> None:
    program = "tests/programs/digits.py"
    assert (site / program).read_text() == (REPOSITORY / program).read_text()


@pytest.mark.long
def test_no_page_is_wider_than_a_phone(site: pathlib.Path, tmp_path: pathlib.Path) -> None:
    pages = sorted(file.as_uri() for file in site.rglob("index.html"))
    frames = FRAME.format(width=PHONE, pages=json.dumps(pages))
    (tmp_path / "frames.html").write_text(frames, encoding="utf-8")
    waiting = ["--dump-dom", "--virtual-time-budget=200000"]
    shown = browse(tmp_path, *waiting, (tmp_path / "frames.html").as_uri())
    found = re.search(r'<pre id="seen">(.+?)</pre>', shown, re.DOTALL)
    assert found, shown[-2000:]
    seen = json.loads(html.unescape(found[1]))
    assert sorted(seen) == pages
    assert {page: what for page, what in seen.items() if what["over"] > 0 or what["cut"]} == {}
