"""The site is built from the READMEs without a broken link and contains the coverage page."""

from __future__ import annotations

import pathlib
import sys

import pytest

from morph.backends.tables import interfaces
from morph.evidence.coverage.matrix import build
from morph.evidence.coverage.page import page
from tests import platforms
from tests.platforms import REPOSITORY, describe

PAGES = (
    "README.md",
    "CONTRIBUTING.md",
    "CHANGELOG.md",
    "SECURITY.md",
    "aliases/README.md",
    "aliases/surfaces/README.md",
    "morph/running/launcher/README.md",
    "morph/source/scan/README.md",
    "morph/device/seam/README.md",
    "morph/software/README.md",
    "tests/README.md",
    "tests/ascend/README.md",
    "tests/programs/README.md",
    "tests/programs/repositories.md",
    "benchmarks/README.md",
)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The built site; a broken link or anchor fails the build."""
    folder = tmp_path_factory.mktemp("site")
    mkdocs = [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", ".docs/mkdocs.yml"]
    environment = platforms.platform("cpu", {}).environment
    done = platforms.complete([*mkdocs, "-d", str(folder)], env=environment, cwd=REPOSITORY, timeout=120)
    assert done.returncode == 0, describe(done)
    return folder


@pytest.mark.parametrize("source", PAGES)
def test_a_page_is_there_under_its_title(site: pathlib.Path, source: str) -> None:
    path = pathlib.Path(source.removesuffix(".md").removesuffix("README")) / "index.html"
    title = (REPOSITORY / source).read_text(encoding="utf-8").splitlines()[0].removeprefix("# ")
    assert f">{title}<" in (site / path).read_text(encoding="utf-8")


def test_the_coverage_page_is_in_it(site: pathlib.Path) -> None:
    matrices = [build(interface=name) for name in interfaces.names()]
    assert (site / "coverage.html").read_text(encoding="utf-8") == page(matrices)
    assert 'href="coverage.html"' in (site / "index.html").read_text(encoding="utf-8")


def test_programs_that_are_linked_to_are_in_it(site: pathlib.Path) -> None:
    program = "tests/programs/digits.py"
    assert (site / program).read_text() == (REPOSITORY / program).read_text()
