"""An enabled environment runs no code that others may write, unless Python itself would have run it."""

import importlib.metadata
import os
import pathlib
from collections.abc import Mapping

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from morph.base import toml
from morph.base.importing import COMPILED, DEPENDENCIES
from tests.environment.test_starting import enable
from tests.installation import FreshEnvironment
from tests.platforms import REPOSITORY

HOSTILE = """
import os
with open(os.environ["RAN"], "a") as file:
    print(__name__, file=file)
"""
# what morph is made of, what it imports, and what it reads
NAMES = ("sitecustomize", "usercustomize", "morph", "finders", "aliases", "wrapt", "importlib_metadata")
NAMES += ("platformdirs", "filelock", "psutil", "rich", "tomllib", "zipp", "evil")
SETTINGS = """
backend = "cpu"
packages = ["evil"]
"""
NOBODY = 65534


@pytest.fixture
def hostile(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder of modules that record when they are run, and of configuration files."""
    folder = tmp_path / "hostile"
    folder.mkdir()
    for name in NAMES:
        if name in ("morph", "finders", "aliases"):
            (folder / name).mkdir()
            (folder / name / "__init__.py").write_text(HOSTILE)
        else:
            (folder / f"{name}.py").write_text(HOSTILE)
    (folder / "morph.toml").write_text(SETTINGS)
    (folder / "pyproject.toml").write_text("[tool.morph]\nbackend = 'evil'")
    return folder


def ran(
    environment: FreshEnvironment,
    folder: pathlib.Path,
    *words: object,
    variables: Mapping[str, str] | None = None,
) -> list[str]:
    """Run Python in a folder and return the hostile modules that were run."""
    said = folder.parent / "ran.txt"
    said.write_text("")
    done = environment.run(*words, environment={"RAN": str(said), **(variables or {})}, cwd=folder)
    assert "Traceback" not in done.stderr, done.stderr
    return said.read_text().split()


PROGRAMS: dict[str, tuple[str, ...]] = {
    "nothing": ("-c", "pass"),
    "a library": ("-c", "import packaging"),
    "metadata": ("-c", "import importlib.metadata as m; m.version('packaging'); list(m.distributions())"),
    "a script": ("script.py",),
    "a module": ("-m", "script"),
}


def test_a_hostile_folder_runs_no_more_than_without_morph(
    environment: FreshEnvironment, hostile: pathlib.Path
) -> None:
    (hostile / "script.py").write_text("import packaging\nassert 'NPU'.lower() != 'cuda'")
    variables = {"MORPH_BACKEND": "cpu"}
    plain = {name: ran(environment, hostile, *words) for name, words in PROGRAMS.items()}
    enable(environment)
    ours = {name: ran(environment, hostile, *words, variables=variables) for name, words in PROGRAMS.items()}
    assert ours == plain == dict.fromkeys(PROGRAMS, [])


def test_nor_when_morph_is_activated(environment: FreshEnvironment, hostile: pathlib.Path) -> None:
    enable(environment, "--backend", "cpu")
    code = "import torch; assert torch.cuda.is_available(); import morph; assert morph.status().active"
    (hostile / "script.py").write_text(code)
    assert ran(environment, hostile, "script.py") == []


def test_a_hostile_path_runs_no_more_than_without_morph(
    environment: FreshEnvironment, hostile: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    variables = {"PYTHONPATH": str(hostile), "MORPH_BACKEND": "cpu"}
    away = tmp_path / "away"
    away.mkdir()
    words = [words for words in PROGRAMS.values() if "script" not in words[-1]]
    plain = [ran(environment, away, *each, variables=variables) for each in words]
    enable(environment)
    assert [ran(environment, away, *each, variables=variables) for each in words] == plain
    assert {"sitecustomize"} == set.union(*map(set, plain)), "Python itself runs it"


def test_the_launcher_runs_no_more_than_python(
    environment: FreshEnvironment, hostile: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    """The command, unlike `python -m morph`, does not run a folder called morph in the current one."""
    (tmp_path / "away").mkdir()
    (tmp_path / "away" / "program.py").write_text("import torch; assert torch.cuda.is_available()")
    command = environment.folder / "bin" / "morph"
    assert ran(environment, hostile, command, "--backend", "cpu", "../away/program.py") == []
    for name in ("morph.toml", "pyproject.toml"):
        (hostile / name).unlink()
    assert ran(environment, hostile, command, "--backend", "cpu", "-c", "import packaging") == []


def test_a_module_that_is_called_like_torch_is_left_alone(
    environment: FreshEnvironment, hostile: pathlib.Path
) -> None:
    enable(environment)
    (hostile / "torch.py").write_text(HOSTILE)
    assert ran(environment, hostile, "-c", "import torch; torch.os") == ["torch"]


def everybodys(environment: FreshEnvironment, settings: str) -> None:
    """Write the settings of an enabled environment and make its files writable for everybody."""
    (environment.packages / "morph.toml").write_text(settings)
    for name in ("morph.pth", "morph.start", "morph.toml"):
        (environment.packages / name).chmod(0o666)


@pytest.mark.parametrize(
    "settings",
    [
        "backend = 'evil'",
        "backend = 'evil:run'",
        "backend = '../../evil'",
        "packages = ['evil']",
        "packages = ['evil', '__main__']\n[package.evil]\nserved = ['pynvml']",
        "packages = ['__import__(\"evil\")']",
        "import = 'evil'",
        "[package.evil]\nadapter = 'evil:run'",
    ],
)
def test_what_everybody_may_write_names_no_code(
    environment: FreshEnvironment, hostile: pathlib.Path, settings: str
) -> None:
    enable(environment)
    everybodys(environment, settings)
    for name in ("morph.toml", "pyproject.toml"):
        (hostile / name).unlink()
    (hostile / "script.py").write_text("import packaging\n'NPU'.lower() != 'cuda'")
    assert ran(environment, hostile, "script.py") == []
    assert environment.run("-m", "morph", "status", check=False).returncode == 3


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can start a process with other rights than its own")
def test_an_interpreter_with_other_rights_than_the_users_is_left_alone(
    environment: FreshEnvironment, hostile: pathlib.Path
) -> None:
    enable(environment, "--backend", "cpu")
    code = "import os, sys, packaging; print(os.getuid() == os.geteuid(), 'morph.running' in sys.modules)"
    assert environment.run("-c", code).stdout == "True True\n"
    done = environment.run("-c", code, rights=lambda: os.setresuid(NOBODY, 0, 0))
    assert (done.stdout, done.stderr) == ("False False\n", "")


def test_all_that_morph_depends_on_is_known() -> None:
    project = toml.loads((REPOSITORY / "pyproject.toml").read_text())
    waiting, names = list(project["project"]["dependencies"]), set()
    while waiting:
        name = canonicalize_name(Requirement(waiting.pop()).name)
        if name not in {*names, "torch"}:
            names.add(name)
            needed = map(Requirement, importlib.metadata.requires(name) or ())
            waiting += [str(each) for each in needed if each.marker is None or each.marker.evaluate()]
    modules = importlib.metadata.packages_distributions()
    imported = {
        module
        for module, distributions in modules.items()
        if names.intersection(map(canonicalize_name, distributions)) and module.isidentifier()
    }
    assert {module for module in imported if not module.endswith(COMPILED)} <= DEPENDENCIES
