"""`morph check` as a pre-commit hook and as a GitHub Action, both of which run it without torch."""

import json
import os
import pathlib
import re
import subprocess
import sys
from typing import Any

import pytest
import yaml

from morph.base import toml
from morph.source.scan.report import DIFFERENT, MISSING
from morph.source.scan.rules import rules
from tests.packaging.runner import Runner
from tests.platforms import REPOSITORY, complete, describe

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
README = (REPOSITORY / "morph" / "source" / "scan" / "README.md").read_text(encoding="utf-8")
[HOOK] = yaml.safe_load((REPOSITORY / ".pre-commit-hooks.yaml").read_text())
PROJECT: dict[str, Any] = toml.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
REQUIRED = {re.split(r"[~=<>]", each)[0] for each in PROJECT["dependencies"]}
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
    return complete(command, env=environment, cwd=cwd)


def test_the_hook_is_a_command_that_does_without_torch(tmp_path: pathlib.Path) -> None:
    assert (HOOK["language"], HOOK["require_serial"]) == ("python", True)
    (tmp_path / "train.py").write_text(SOURCE)
    command, *words = HOOK["entry"].split()
    assert command in PROJECT["scripts"]
    checked = [*words, *HOOK.get("args", []), "train.py", "--sarif", "found.sarif"]
    done = run(sys.executable, "-c", ALONE, *checked, cwd=tmp_path)
    assert (done.returncode, done.stderr) == (1, ""), describe(done)
    assert "torch.cuda.gds.GdsFile (missing-name): 1 place in 1 file" in done.stdout
    assert json.loads((tmp_path / "found.sarif").read_text())["version"] == "2.1.0"


def test_the_hook_installs_what_the_project_requires() -> None:
    first, *others = HOOK["additional_dependencies"]
    assert first == "--no-deps"
    names = {re.split(r"[~=<>]", each)[0] for each in others}
    assert {name.replace("-", "_") for name in names} == NEEDED - {"lazy_importer"}
    assert names - {"zipp"} <= REQUIRED


def checked(folder: pathlib.Path, *files: str, **inputs: str) -> Runner:
    """Runs the action in a workspace with these files, in each of which there is one name to look at."""
    for name in files:
        (folder / "workspace" / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / "workspace" / name).write_text(SOURCE)
    (folder / "python").write_text(PYTHON)
    (folder / "python").chmod(0o755)
    variables = {**ENVIRONMENT, "RUNNER_TEMP": str(folder), "LOG": str(folder / "log")}
    known = {"steps.python.outputs.python-path": str(folder / "python")}
    runner = Runner(folder / "workspace", folder, variables, known)
    runner.action(ACTION, inputs)
    return runner


def statuses(runner: Runner) -> list[int]:
    """Returns the exit status of each step that was run: the installation, the check, and the end."""
    return [done.returncode for done in runner.done]


def test_the_action_checks_uploads_and_fails(tmp_path: pathlib.Path) -> None:
    job = checked(tmp_path, "train.py")
    assert statuses(job) == [0, 0, 1]
    (setup, _), (upload, words) = job.used
    assert setup.startswith("actions/setup-python@v")
    assert upload.startswith("github/codeql-action/upload-sarif@v")
    log = json.loads((job.workspace / words["sarif_file"]).read_text())
    assert [each["ruleId"] for each in log["runs"][0]["results"]] == ["missing-name"]
    assert "torch.cuda.gds.GdsFile (missing-name): 1 place in 1 file" in (tmp_path / "summary").read_text()
    installed = (tmp_path / "log").read_text().splitlines()
    assert installed[0] == f"-m venv {tmp_path}/morph"
    names = {re.split(r"[~=<>]", name)[0] for name in installed[1].split()[4:]}
    assert names <= REQUIRED - {"torch"}
    assert pathlib.Path(installed[2].split()[-1]).resolve() == REPOSITORY


def test_the_inputs_of_the_action(tmp_path: pathlib.Path) -> None:
    places = {"paths": "a folder\nother", "backends": "npu\n", "exclude": "c*.py", "sarif": "found it.sarif"}
    files = ("a folder/a.py", "other/b.py", "other/c.py", "not/d.py")
    job = checked(tmp_path, *files, upload="false", ignore="torch.cuda.gds.*\nunparsed", **places)
    assert statuses(job) == [0, 0, 0]
    assert "1 use" not in (tmp_path / "summary").read_text()
    assert "2 ignored" in (tmp_path / "summary").read_text()
    assert [used for used, _ in job.used if "upload" in used] == []
    assert (job.workspace / "found it.sarif").exists()


@pytest.mark.parametrize("fail", ["true", "false"])
def test_a_mistake_ends_the_action(tmp_path: pathlib.Path, fail: str) -> None:
    job = checked(tmp_path, "train.py", paths="$(touch hacked); absent", fail=fail)
    assert statuses(job) == [0, 2]
    assert not (job.workspace / "hacked").exists()


def test_what_there_is_to_look_at_need_not_fail(tmp_path: pathlib.Path) -> None:
    assert statuses(checked(tmp_path, "train.py", fail="false")) == [0, 0]
    assert "status=1" in (tmp_path / "output").read_text()


def test_the_readme_names_every_rule() -> None:
    [listed] = re.findall(r"`ignore` takes these rules: (.*?)\.\n", README, re.DOTALL)
    assert re.findall(r"`([\w-]+)`", listed) == sorted({MISSING, DIFFERENT, *rules()})


def test_the_workflow_of_the_readme_takes_inputs_of_the_action() -> None:
    shown = re.findall(r"^```yaml\n(.*?)^```", README, re.DOTALL | re.MULTILINE)
    workflow, hooks = map(yaml.safe_load, shown)
    _, step = workflow["jobs"]["check"]["steps"]
    assert set(step["with"]) <= set(yaml.safe_load((ACTION / "action.yml").read_text())["inputs"])
    [hook] = hooks["repos"][0]["hooks"]
    assert hook["id"] == HOOK["id"]
