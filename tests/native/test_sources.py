"""Sources that an installer removes or replaces while a process builds them end the build."""

import pathlib
import shutil

import pytest

from morph.base.native import BuildError
from morph.base.native.library import Library
from morph.base.native.parts import PACKAGE, parts

SEAM = pathlib.Path("device", "seam")


@pytest.fixture
def package(tmp_path: pathlib.Path) -> pathlib.Path:
    """A copy of the seam's sources."""
    shutil.copytree(PACKAGE / SEAM, tmp_path / SEAM)
    return tmp_path


@pytest.fixture
def seam(package: pathlib.Path) -> Library:
    """The seam of that copy."""
    return parts(package)["seam"].library()


def test_sources_that_stay(seam: Library) -> None:
    assert "module.cpp" in seam.recipe().units[0].text


def test_sources_that_are_gone(package: pathlib.Path, seam: Library) -> None:
    shutil.rmtree(package / SEAM)
    with pytest.raises(BuildError, match="^the C\\+\\+ sources of 'seam' are gone; install morph again$"):
        seam.recipe()


@pytest.mark.parametrize("file", ["module.cpp", "module.h"])
def test_sources_of_which_one_is_gone_or_new(package: pathlib.Path, seam: Library, file: str) -> None:
    path = package / SEAM / file
    path.unlink() if path.exists() else path.write_text("")
    with pytest.raises(BuildError, match=rf"of {seam.place.name} have changed since the start"):
        seam.recipe()
