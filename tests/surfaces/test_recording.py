"""Recording the installed packages gives exactly the shipped surfaces; otherwise the drift is reported."""

import importlib.resources
import json
import pathlib
import textwrap
from importlib.metadata import version

import pytest
import torch

from morph.backends import resolve
from morph.backends.tables import surfaces
from morph.evidence.surfaces.comparison import compare
from morph.evidence.surfaces.recording import record
from tests.commands import status
from tests.platforms import Platform, complete, describe

SHIPPED = importlib.resources.files("morph.aliases.surfaces")


def shipped(name: str) -> str:
    return (SHIPPED / f"{name}.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("module", ["torch.cuda", "torch.xpu"])
def test_the_installed_torch_is_as_recorded(module: str, tmp_path: pathlib.Path) -> None:
    name = f"{module.replace('.', '_')}-2.13.0"
    assert status("surface", "record", module, "--output", str(tmp_path / "recorded.json")) == 0
    recorded = (tmp_path / "recorded.json").read_text(encoding="utf-8")
    found = compare(surfaces.load(name), surfaces.parse(recorded, "recorded.json"))
    assert found.removed == ()
    own = surfaces.load(name)
    lists = {each: getattr(resolve(each), "__all__", ()) for each in own.modules}
    assert {f"{each}.{last}" for each, listed in lists.items() for last in listed} <= own.names
    if torch.version.cuda and module == "torch.cuda":  # it has members that torch's stubs leave out
        return
    assert (found.added, found.changed) == ((), {})
    assert recorded.replace(f"torch {version('torch')},", "torch 2.13.0+cpu,") == shipped(name)


@pytest.mark.platforms("npu")
def test_the_installed_vendor_is_as_recorded(platform: Platform) -> None:
    command = [*platform.command(morph=False), "-m", "morph", "surface", "record", "torch_npu"]
    done = complete(command, env=dict(platform.environment))
    assert done.returncode == 0, describe(done)
    recorded = json.loads(done.stdout)["version"]
    found = compare(surfaces.load("torch_npu-2.13.0"), surfaces.parse(done.stdout, "recorded.json"))
    assert (recorded, found.added, found.removed, found.changed) == ("2.13.0", (), (), {})
    assert done.stdout == shipped("torch_npu-2.13.0")


SPECIMEN = """
    import functools
    import json
    from collections import OrderedDict

    LIMIT = 3
    _lazy_init = print
    _secret = 1

    def plain(first, *rest, key=LIMIT, **others): ...

    @functools.cache
    def decorated(x: "int" = 2 ** 16) -> int: ...

    class Base:
        note: str

        def __init__(self, device=None): ...
        def inherited(self, other): ...

    class Thing(Base):
        @property
        def size(self): ...
        @staticmethod
        def make(n=1): ...
        @classmethod
        def of(cls, n): ...
        def _hidden(self): ...
        def __enter__(self): ...

    Other = Thing
"""


@pytest.fixture
def specimen(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> str:
    package = tmp_path / "torch_specimen"
    package.mkdir()
    (package / "__init__.py").write_text(textwrap.dedent(SPECIMEN))
    (package / "memory.py").write_text("__all__ = ['used']\ndef used(): ...\ndef unlisted(): ...\n")
    (package / "broken.py").write_text("import no_such_dependency\n")
    (package / "_private.py").write_text("def nothing(): ...\n")
    monkeypatch.syspath_prepend(tmp_path)
    return "torch_specimen"


def test_what_is_recorded_of_a_module(specimen: str) -> None:
    said: list[str] = []
    surface = record(specimen, "1.0", [specimen], "a test", said.append)
    assert said == [
        "torch_specimen.broken is left out: torch_specimen.broken fails to load: "
        "ModuleNotFoundError: No module named 'no_such_dependency'"
    ]
    assert surface.modules == {"torch_specimen", "torch_specimen.memory"}
    assert surface.functions == {
        "torch_specimen._lazy_init": "(*args, sep=' ', end='\\n', file=None, flush=False)",
        "torch_specimen.decorated": "(x=2 ** 16)",
        "torch_specimen.memory.used": "()",
        "torch_specimen.plain": "(first, *rest, key=LIMIT, **others)",
    }
    assert surface.values == {"torch_specimen.LIMIT"}
    thing = surface.classes["torch_specimen.Thing"]
    assert thing is surface.classes["torch_specimen.Other"]
    assert thing.signature == "(device=None)"
    assert thing.members == {
        "__enter__": "(self)",
        "inherited": "(self, other)",
        "make": "staticmethod (n=1)",
        "note": "attribute",
        "of": "classmethod (cls, n)",
        "size": "property",
    }
    assert surfaces.parse(surfaces.dumps(surface), "specimen.json") == surface
