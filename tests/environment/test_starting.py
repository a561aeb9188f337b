"""What an enabled environment runs when an interpreter starts, also where something is broken."""

import pathlib
from collections.abc import Callable

import pytest

from tests.environment.conftest import NAMES
from tests.installation import FreshEnvironment

LOOK = """
import sys
print(sorted(name for name in sys.modules if name.partition(".")[0] == "morph"))
print(sorted(name for name in sys.modules if name.partition(".")[0] != "morph"))
print(sys.path)
"""
FINDERS = "[getattr(each, '__name__', type(each).__name__) for each in sys.meta_path]"


def enable(environment: FreshEnvironment, *options: str) -> None:
    environment.run("-m", "morph", "enable", *options)


def test_a_start_imports_one_module_and_leaves_the_path_alone(environment: FreshEnvironment) -> None:
    ours, theirs, path = environment.run("-c", LOOK).stdout.splitlines()
    enable(environment)
    done = environment.run("-c", LOOK)
    assert done.stdout.splitlines() == ["['morph']", theirs, path]
    assert (ours, done.stderr) == ("[]", "")
    library = "import asyncio, json, email.message, unittest.mock\n" + LOOK
    assert environment.run("-c", library).stdout.startswith("['morph']\n")
    for option in ("-I", "-E", "-s", "-P"):
        assert environment.run(option, "-c", LOOK).stdout.startswith("['morph']\n")
    assert environment.run("-S", "-c", LOOK).stdout.startswith("[]\n")
    off = {"MORPH_STARTUP": "0"}
    look = f"import sys; print({FINDERS}[0])"
    assert environment.run("-c", look, environment=off).stdout == "BuiltinImporter\n"
    assert environment.run("-E", "-c", look, environment=off).stdout == "morph\n"


def test_the_file_of_python_3_15_names_the_same(environment: FreshEnvironment) -> None:
    """Python reads it after all `.pth` files, ignores their import lines then, and may read it twice."""
    enable(environment)
    (name,) = [
        line
        for line in (environment.packages / "morph.start").read_text().splitlines()
        if not line.startswith("#")
    ]
    (environment.packages / "morph.pth").unlink()
    code = f"""
import pkgutil, sys
for _ in range(2):
    pkgutil.resolve_name({name!r})()
print({FINDERS}.count("morph"))
import site
site.addsitedir({str(environment.packages)!r})
print({FINDERS}.count("morph"))
import packaging
print({FINDERS}[:3])
"""
    assert environment.run("-c", code).stdout.splitlines() == [
        "1",
        "1",
        "['TorchFinder', 'PackageFinder', 'BuiltinImporter']",
    ]


def spoil(packages: pathlib.Path, content: str) -> None:
    (packages / "morph" / "__init__.py").write_text(content)


def cut(packages: pathlib.Path, length: int) -> None:
    for name in NAMES[:2]:
        (packages / name).write_text((packages / name).read_text()[:length])


DAMAGES: dict[str, Callable[[pathlib.Path], object]] = {
    "orphaned": lambda packages: (packages / "morph").rename(packages / "gone"),
    "broken": lambda packages: spoil(packages, "raise OSError('a bad disk')"),
    "no Python": lambda packages: spoil(packages, "def ("),
    "older": lambda packages: spoil(packages, "def start() -> None: ..."),
    "emptied": lambda packages: cut(packages, 0),
    "cut": lambda packages: cut(packages, 40),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_what_is_orphaned_or_damaged_is_silent(environment: FreshEnvironment, damage: str) -> None:
    enable(environment)
    package = environment.packages / "morph"
    content = (package / "__init__.py").read_text()
    try:
        DAMAGES[damage](environment.packages)
        done = environment.run("-c", "import packaging; print('started')")
        assert (done.stdout, done.stderr) == ("started\n", "")
    finally:
        if not package.exists():
            (environment.packages / "gone").rename(package)
        (package / "__init__.py").write_text(content)


def test_what_breaks_later_is_one_line_and_the_import_goes_on(environment: FreshEnvironment) -> None:
    enable(environment)
    startup = environment.packages / "morph" / "running" / "startup" / "waiting.py"
    content = startup.read_text()
    try:
        startup.write_text("import a_module_that_is_gone")
        assert environment.run("-c", "import json").stderr == ""
        done = environment.run("-c", "import packaging, wrapt; print(packaging.__name__)")
        assert done.stdout == "packaging\n"
        said = "morph: not active in this process: ModuleNotFoundError: No module named "
        assert done.stderr == f"{said}'a_module_that_is_gone'\n"
    finally:
        startup.write_text(content)


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ("backend = 'hpu'", "morph.toml:1: backend: there is no backend 'hpu'; "),
        ("backend = 1", "morph.toml:1: backend: 1 should be the name of a backend"),
        ("backend =", "morph.toml:1: not TOML: "),
    ],
)
def test_a_configuration_that_cannot_be_meant_is_one_line(
    environment: FreshEnvironment, tmp_path: pathlib.Path, settings: str, said: str
) -> None:
    enable(environment)
    (environment.packages / "morph.toml").write_text(settings)
    (tmp_path / "program.py").write_text(
        "import importlib.util, packaging\nimportlib.util.find_spec('torch')\nprint('ran')\n"
    )
    done = environment.run(tmp_path / "program.py")
    assert done.stdout == "ran\n"
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"morph: not active in this process: {environment.packages}/{said}")
