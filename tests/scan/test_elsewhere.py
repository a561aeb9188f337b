"""`morph check` as a pre-commit hook and as a GitHub Action, both of which run it without torch."""

from __future__ import annotations

import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Mapping
from typing import Any

import pytest
import yaml

from morph.base import toml
from morph.source.scan.report import DIFFERENT, MISSING
from morph.source.scan.rules import rules
from tests.commands import screens
from tests.platforms import REPOSITORY, describe

NEEDED = {"importlib_metadata", "lazy_importer", "platformdirs", "rich", "zipp"}
ALONE = f"""
import sys
class Absent:
    def find_spec(self, name, path=None, target=None):
        known = {{*sys.stdlib_module_names, "morph", "sitecustomize", "usercustomize", *{sorted(NEEDED)}}}
        if path is None and name not in known:
            raise ModuleNotFoundError(f"no {{name}} here", name=name)
sys.meta_path.insert(0, Absent())
sys.argv[0] = "morph"
from morph.running.launcher.command import main
main(sys.argv[1:])
"""
ACTION = REPOSITORY / ".github" / "actions" / "check"
SOURCE = "import torch\ntorch.cuda.gds.GdsFile\n"
ENVIRONMENT = {"PATH": os.environ["PATH"], "PYTHONPATH": str(REPOSITORY)}
# a fake interpreter whose venv has the command, as after an installation by pip
PYTHON = f"""#!/bin/bash
echo "$@" >> "$LOG"
if [ "$2" = venv ]; then
    mkdir -p "$3/bin"
    cp "$0" "$3/bin/python"
    printf '#!/bin/bash\\nexec %s -m morph "$@"\\n' {sys.executable} > "$3/bin/morph"
    chmod +x "$3/bin/morph"
fi
"""


def run(*words: object, cwd: pathlib.Path, **variables: str) -> subprocess.CompletedProcess[str]:
    command = [str(word) for word in words]
    environment = {**ENVIRONMENT, **variables}
    return subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)


def test_the_hook_is_a_command_that_does_without_torch(tmp_path: pathlib.Path) -> None:
    [hook] = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())
    assert (hook["language"], hook["require_serial"]) == ("python", True)
    (tmp_path / "train.py").write_text(SOURCE)
    command, *words = hook["entry"].split()
    assert command in project()["scripts"]
    checked = [*words, *hook.get("args", []), "train.py", "--sarif", "found.sarif"]
    done = run(sys.executable, "-c", ALONE, *checked, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, ""), describe(done)
    assert "torch.cuda.gds.GdsFile (missing-name): 1 place in 1 file" in done.stdout
    assert json.loads((tmp_path / "found.sarif").read_text())["version"] == "2.1.0"


def test_the_hook_installs_what_the_project_requires() -> None:
    [hook] = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())
    first, *others = hook["additional_dependencies"]
    assert first == "--no-deps"
    names = {re.split(r"[~=<>]", each)[0] for each in others}
    assert {name.replace("-", "_") for name in names} == NEEDED - {"lazy_importer"}
    assert names - {"zipp"} <= {re.split(r"[~=<>]", each)[0] for each in project()["dependencies"]}


def project() -> dict[str, Any]:
    found: dict[str, Any] = toml.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    return found


class Job:
    """Runs the action's steps as GitHub's runner does, except that it only records other actions."""

    def __init__(self, folder: pathlib.Path, **inputs: str) -> None:
        self.action = self.read()
        defaults = {name: each["default"] for name, each in self.action["inputs"].items()}
        self.values = {f"inputs.{name}": value for name, value in {**defaults, **inputs}.items()}
        self.values["github.action_path"] = str(ACTION)
        self.values["steps.python.outputs.python-path"] = str(folder / "python")
        self.workspace, self.folder = folder / "workspace", folder
        self.used: list[tuple[str, Mapping[str, str]]] = []
        self.workspace.mkdir(exist_ok=True)
        (folder / "python").write_text(PYTHON)
        (folder / "python").chmod(0o755)

    @staticmethod
    def read() -> dict[str, Any]:
        """Returns the action's description."""
        found: dict[str, Any] = yaml.safe_load((ACTION / "action.yml").read_text())
        return found

    def run(self) -> list[tuple[str, int]]:
        """Runs the steps with commands, up to one that fails, and returns them with their exit status."""
        done: list[tuple[str, int]] = []
        for step in self.action["runs"]["steps"]:
            if "if" in step and not self._holds(step["if"]):
                continue
            if "uses" in step:
                self.used.append((step["uses"], {k: self._text(str(v)) for k, v in step["with"].items()}))
                continue
            done.append((step["id"], self._execute(step)))
            if done[-1][1]:
                break
        return done

    def _holds(self, condition: str) -> bool:
        found = re.fullmatch(r"\$\{\{ ([\w.]+) == '(\w+)' \}\}", condition)
        assert found
        return self.values[found[1]] == found[2]

    def _text(self, text: str) -> str:
        return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: self.values[found[1]], text)

    def _execute(self, step: Mapping[str, Any]) -> int:
        assert step["shell"] == "bash"
        assert "${{" not in step["run"]  # a user's input must not become shell code
        (self.folder / "step.sh").write_text(step["run"])
        files = {name: str(self.folder / name.lower()) for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY")}
        variables = {name: self._text(value) for name, value in step.get("env", {}).items()}
        own = {"RUNNER_TEMP": str(self.folder), "LOG": str(self.folder / "log"), **files, **variables}
        bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail", self.folder / "step.sh"]
        done = run(*bash, cwd=self.workspace, **own)
        self.shown = done.stdout
        output = self.folder / "github_output"
        for line in output.read_text().splitlines() if output.exists() else ():
            name, _, value = line.partition("=")
            self.values[f"steps.{step['id']}.outputs.{name}"] = value
        return done.returncode


def test_the_action_checks_uploads_and_fails(tmp_path: pathlib.Path) -> None:
    job = Job(tmp_path)
    (job.workspace / "train.py").write_text(SOURCE)
    assert job.run() == [("install", 0), ("check", 0), ("fail", 1)]
    (setup, _), (upload, words) = job.used
    assert setup.startswith("actions/setup-python@v")
    assert upload.startswith("github/codeql-action/upload-sarif@v")
    log = json.loads((job.workspace / words["sarif_file"]).read_text())
    assert [each["ruleId"] for each in log["runs"][0]["results"]] == ["missing-name"]
    summary = (tmp_path / "github_step_summary").read_text()
    assert "torch.cuda.gds.GdsFile (missing-name): 1 place in 1 file" in summary
    installed = (tmp_path / "log").read_text().splitlines()
    assert installed[0] == f"-m venv {tmp_path}/morph"
    assert {re.split(r"[~=<>]", name)[0] for name in installed[1].split()[4:]} <= {
        re.split(r"[~=<>]", each)[0] for each in project()["dependencies"]
    } - {"torch"}
    assert pathlib.Path(installed[2].split()[-1]).resolve() == REPOSITORY


def test_the_inputs_of_the_action(tmp_path: pathlib.Path) -> None:
    places = {"paths": "a folder\nother", "backends": "npu\n", "exclude": "c*.py", "sarif": "found it.sarif"}
    job = Job(tmp_path, upload="false", ignore="torch.cuda.gds.*\nunparsed", **places)
    for name in ("a folder/a.py", "other/b.py", "other/c.py", "not/d.py"):
        (job.workspace / name).parent.mkdir(exist_ok=True)
        (job.workspace / name).write_text(SOURCE)
    assert job.run() == [("install", 0), ("check", 0), ("fail", 0)]
    assert "1 use" not in (tmp_path / "github_step_summary").read_text()
    assert "2 ignored" in (tmp_path / "github_step_summary").read_text()
    assert [used for used, _ in job.used if "upload" in used] == []
    assert (job.workspace / "found it.sarif").exists()


@pytest.mark.parametrize("fail", ["true", "false"])
def test_a_mistake_ends_the_action(tmp_path: pathlib.Path, fail: str) -> None:
    job = Job(tmp_path, paths="$(touch hacked); absent", fail=fail)
    assert job.run() == [("install", 0), ("check", 2)]
    assert not (job.workspace / "hacked").exists()


def test_what_there_is_to_look_at_need_not_fail(tmp_path: pathlib.Path) -> None:
    job = Job(tmp_path, fail="false")
    (job.workspace / "train.py").write_text(SOURCE)
    assert job.run() == [("install", 0), ("check", 0)]
    assert job.values["steps.check.outputs.status"] == "1"


def test_the_readme_names_every_rule() -> None:
    text = (REPOSITORY / "morph" / "source" / "scan" / "README.md").read_text(encoding="utf-8")
    [listed] = re.findall(r"`ignore` takes these rules: (.*?)\.\n", text, re.DOTALL)
    assert re.findall(r"`([\w-]+)`", listed) == sorted({MISSING, DIFFERENT, *rules()})


def test_the_readme_shows_the_recorded_screen() -> None:
    text = (REPOSITORY / "morph" / "source" / "scan" / "README.md").read_text(encoding="utf-8")
    [shown] = re.findall(r"^\$ morph check train.py\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    assert screens.recorded("check").startswith(shown)


def test_the_workflow_of_the_readme_takes_inputs_of_the_action() -> None:
    text = (REPOSITORY / "morph" / "source" / "scan" / "README.md").read_text(encoding="utf-8")
    shown = re.findall(r"^```yaml\n(.*?)^```", text, re.DOTALL | re.MULTILINE)
    workflow, hooks = map(yaml.safe_load, shown)
    _, step = workflow["jobs"]["check"]["steps"]
    assert set(step["with"]) <= set(Job.read()["inputs"])
    [hook] = hooks["repos"][0]["hooks"]
    assert hook["id"] == yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())[0]["id"]
