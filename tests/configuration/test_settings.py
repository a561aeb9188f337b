"""Which settings take effect, in real interpreters."""

import json
import os
import pathlib
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest

from tests.platforms import REPOSITORY, complete, describe

OURS = ("MORPH_BACKEND", "MORPH_PACKAGES", "MORPH_SCOPE", "MORPH_ANNOUNCED")
SETTINGS = """
import json, morph.activation.configuration as c
settings = c.effective()
names = ["mine", "declared", "other", "__main__", "__mp_main__", "torch.nn"]
policies = [settings.scope.policy(name) for name in names]
print(json.dumps([settings.backend, [[p.cuda, p.serves("apex")] for p in policies]]))
"""


class Home:
    """A user's home, a project in it, and a folder of installed distributions."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self.project = folder / "project"
        self.user = folder / "config" / "morph" / "morph.toml"
        for each in (self.project, self.user.parent):
            each.mkdir(parents=True)

    def declare(self, name: str) -> None:
        """Install a distribution that declares that its package ``name`` should see CUDA."""
        info = self.folder / "installed" / f"{name}_ml-1.5.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}-ml\nVersion: 1.5\n")
        (info / "entry_points.txt").write_text(f"[morph.packages]\n{name} = {name}.never.imported\n")

    def run(
        self, *words: str, environment: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run Python in the project."""
        kept = {name: value for name, value in os.environ.items() if name not in OURS}
        path = os.pathsep.join(map(str, [REPOSITORY, self.folder / "installed"]))
        own = {"PYTHONPATH": path, "XDG_CONFIG_HOME": str(self.folder / "config")}
        return complete(
            [sys.executable, *words], env={**kept, **own, **(environment or {})}, cwd=self.project
        )

    def listed(self, *arguments: str, **environment: str) -> dict[str, tuple[Any, str]]:
        """Return what `morph config --json` prints."""
        done = self.run("-m", "morph", "config", "--json", *arguments, environment=environment)
        assert done.returncode == 0, describe(done)
        return {each["key"]: (each["value"], each["place"]) for each in json.loads(done.stdout)}

    def effective(self, *options: str, **environment: str) -> list[Any]:
        """Return the settings of a process that is not started by `python -m morph`."""
        path = f"import sys; sys.path[:0] = {[str(REPOSITORY), str(self.folder / 'installed')]!r}\n"
        done = self.run(*options, "-c", path + SETTINGS, environment=environment)
        assert done.returncode == 0, describe(done)
        answer: list[Any] = json.loads(done.stdout)
        return answer


@pytest.fixture
def home(tmp_path: pathlib.Path) -> Home:
    return Home(tmp_path)


def test_the_most_specific_counts(home: Home) -> None:
    assert home.listed() == {"backend": (None, "default"), "packages": (None, "default")}
    home.user.write_text("backend = 'cpu'\npackages = ['of_user']\n[package.of_user]\nview = 'vendor'\n")
    assert home.listed() == {
        "backend": ("cpu", f"{home.user}:1"),
        "packages": (["of_user"], f"{home.user}:2"),
        "package.of_user.view": ("vendor", f"{home.user}:4"),
    }
    project = home.project / "pyproject.toml"
    project.write_text("[tool.morph]\npackages = ['mine']")
    found = home.listed()
    assert found == {"backend": ("cpu", f"{home.user}:1"), "packages": (["mine"], f"{project}:2")}
    assert home.listed("/")["packages"] == (["of_user"], f"{home.user}:2"), "another program's project"
    variables = {"MORPH_BACKEND": "npu", "MORPH_PACKAGES": "a, b"}
    found = home.listed(**variables)
    assert found == {"backend": ("npu", "MORPH_BACKEND"), "packages": (["a", "b"], "MORPH_PACKAGES")}


def test_packages_that_declare_themselves_are_opted_in_where_not_all_are(home: Home) -> None:
    home.declare("declared")
    assert home.listed() == {"backend": (None, "default"), "packages": (None, "default")}
    everyone, nobody, torchs = [True] * 2, [False] * 2, [False] * 2
    assert home.effective() == [None, [everyone] * 5 + [torchs]]
    home.user.write_text("packages = ['mine']\n[package.mine]\nview = 'vendor'\nserved = ['apex']\n")
    sparing = [False, True]
    assert home.effective() == [None, [sparing, everyone, nobody, nobody, nobody, torchs]]
    done = home.run("-m", "morph", "config")
    assert [line.split()[0] for line in done.stdout.splitlines()].count("packages") == 2
    assert "declared-ml 1.5" in done.stdout


def test_single_packages_where_all_are_opted_in(home: Home) -> None:
    home.user.write_text("[package.mine]\nview = 'vendor'\n[package.other]\nserved = ['pynvml']\n")
    everyone, truthful, spared = [True] * 2, [False, True], [True, False]
    assert home.effective() == [None, [truthful, everyone, spared, everyone, everyone, [False] * 2]]


def test_a_projects_file_counts_for_the_launcher_only(home: Home) -> None:
    (home.project / "morph.toml").write_text("backend = 'no such backend'\npackages = []")
    assert home.effective()[0] is None
    done = home.run("-m", "morph", "-c", "print('ran')")
    assert (done.returncode, done.stdout) == (2, "")
    where = f"morph: {home.project / 'morph.toml'}:1: backend: there is no backend 'no such backend'; "
    assert done.stderr.startswith(where)
    assert done.stderr.count("\n") == 1


def test_the_program_itself_is_opted_in_and_hands_that_down(home: Home) -> None:
    (home.project / "morph.toml").write_text("packages = ['mine']")
    (home.project / "program.py").write_text(SETTINGS)
    (home.project / "tool.py").write_text(
        "import subprocess, sys\nsubprocess.run([sys.executable, 'program.py'], check=True)\n"
    )
    everyone, nobody = [True] * 2, [False] * 2
    expected = [None, [everyone, nobody, nobody, everyone, everyone, nobody]]
    for words in (["program.py"], ["tool.py"], ["-m", "tool"]):
        done = home.run("-m", "morph", *words)
        assert done.returncode == 0, describe(done)
        assert json.loads(done.stdout) == expected, words


def test_isolated_interpreters_are_told_nothing_by_their_surroundings(home: Home) -> None:
    home.user.write_text("backend = 'cpu'")
    assert home.effective()[0] == "cpu"
    assert home.effective(MORPH_BACKEND="npu")[0] == "npu"
    assert home.effective("-E", MORPH_BACKEND="npu")[0] == "cpu"
    assert home.effective("-s", MORPH_BACKEND="npu")[0] == "npu"
    assert home.effective("-s")[0] is None
    assert home.effective("-I", MORPH_BACKEND="npu")[0] is None


def test_a_variable_that_cannot_be_meant(home: Home) -> None:
    for variable, value in {"MORPH_PACKAGES": "a-b", "MORPH_SCOPE": "[1]", "MORPH_BACKEND": "hpu"}.items():
        done = home.run("-m", "morph", "-c", "pass", environment={variable: value})
        assert done.returncode == 2
        assert done.stderr.startswith(f"morph: {variable}: ")
        assert done.stderr.count("\n") == 1
