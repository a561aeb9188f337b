"""Which of several sources takes precedence, without an interpreter for each."""

from __future__ import annotations

import pathlib
from collections.abc import Iterator

import pytest

from morph.activation import configuration
from morph.activation.configuration import files
from morph.activation.configuration.files import Source

SOURCES = ("variables", "project", "environment", "user")


def source(name: str, backend: str) -> Source:
    places = dict.fromkeys(("backend", "packages", "package.sam2.view"), name)
    return Source(places, backend, ("sam2", name), {"sam2": {"view": name}})


@pytest.fixture(autouse=True)
def nothing_is_kept() -> Iterator[None]:
    configuration._effective.cache_clear()
    yield
    configuration._effective.cache_clear()


@pytest.mark.parametrize("first", range(4))
def test_the_most_specific_source_that_says_it_counts(monkeypatch: pytest.MonkeyPatch, first: int) -> None:
    backends = ("cpu", "npu", "musa", "xpu")
    told: list[Source | None] = [*map(source, SOURCES, backends)]
    told[:first] = [None] * first
    monkeypatch.setattr(configuration, "_of_variables", lambda *given: told[0])
    monkeypatch.setattr(files, "of_project", lambda start: told[1])
    monkeypatch.setattr(files, "of_environment", lambda: told[2])
    monkeypatch.setattr(files, "of_user", lambda: told[3])
    settings = configuration.effective(pathlib.Path("/"))
    assert settings.backend == backends[first]
    assert {each.place for each in settings.listed} == {SOURCES[first]}
    assert [each.value for each in settings.listed] == [
        backends[first],
        ("sam2", SOURCES[first]),
        SOURCES[first],
    ]
