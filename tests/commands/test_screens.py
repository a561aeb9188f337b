"""Commands print what the recorded screens show, which the README shows too."""

import pathlib

import pytest

from tests.commands import screens
from tests.platforms import build_native_parts


@pytest.mark.parametrize("name", screens.COMMANDS)
def test_a_screen_is_what_is_recorded(name: str, tmp_path: pathlib.Path) -> None:
    if name == "rehearse":
        build_native_parts()
    shown = screens.shown(name, tmp_path)
    assert screens.steady(shown) == screens.steady(screens.recorded(name))


@pytest.mark.long
@pytest.mark.parametrize("name", ["build", "build-120"])
def test_a_build_on_a_terminal(name: str, tmp_path: pathlib.Path) -> None:
    shown = screens.built(tmp_path, screens.width(name))
    assert screens.steady(shown) == screens.steady(screens.recorded(name))


def test_every_recorded_screen_fits_a_terminal() -> None:
    for file in screens.FOLDER.glob("*.txt"):
        widest = max(map(len, file.read_text(encoding="utf-8").splitlines()))
        # source lines keep their width, and output that other programs read too is not wrapped
        assert widest <= screens.width(file.stem) or file.stem in ("port", "rehearse"), file.name
