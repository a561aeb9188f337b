"""Runs the steps of a workflow and of this repository's actions, as GitHub's runner does."""

import dataclasses
import os
import pathlib
import re
import subprocess
from collections.abc import Mapping
from typing import Any

import yaml

from tests.platforms import REPOSITORY, complete

OWN = re.compile(r"OWNER/morph/(\.github/actions/\w+)@\w+")


@dataclasses.dataclass
class Runner:
    """A job's working folder and variables.

    Attributes:
        workspace: Where the steps are run.
        folder: Takes the runner's own files.
        variables: All environment variables of the steps.
        known: What `${{ name }}` stands for in every action.
        used: The actions of others that the job named, with their inputs; they are not run.
        done: The commands that were run, each with its exit status and output.
    """

    workspace: pathlib.Path
    folder: pathlib.Path
    variables: Mapping[str, str]
    known: Mapping[str, str] = dataclasses.field(default_factory=dict)
    used: list[tuple[str, dict[str, str]]] = dataclasses.field(default_factory=list)
    done: list[subprocess.CompletedProcess[str]] = dataclasses.field(default_factory=list)

    def run(self, steps: list[dict[str, Any]], values: dict[str, str] | None = None) -> bool:
        """Runs steps up to one that fails, and returns whether all passed.

        Args:
            steps: As in the workflow or the action.
            values: What `${{ name }}` stands for.
        """
        values = {} if values is None else values
        return all(self._step(step, values) for step in steps)

    def _step(self, step: dict[str, Any], values: dict[str, str]) -> bool:
        if "if" in step and not _holds(step["if"], values):
            return True
        given = {name: _text(str(value), values) for name, value in step.get("with", {}).items()}
        if "run" in step:
            return self._execute(step, values)
        if own := OWN.fullmatch(step["uses"]):
            return self.action(REPOSITORY / own[1], given)
        self.used.append((step["uses"], given))
        return True

    def action(self, place: pathlib.Path, given: Mapping[str, str]) -> bool:
        """Runs the action in a folder, with these inputs, and returns whether all of its steps passed."""
        action = yaml.safe_load((place / "action.yml").read_text(encoding="utf-8"))
        inputs = {**{name: each["default"] for name, each in action["inputs"].items()}, **given}
        values = {f"inputs.{name}": value for name, value in inputs.items()}
        return self.run(action["runs"]["steps"], {**self.known, **values, "github.action_path": str(place)})

    def _execute(self, step: dict[str, Any], values: dict[str, str]) -> bool:
        assert step.get("shell", "bash") == "bash"
        assert "${{" not in step["run"]  # a user's input must not become shell code
        script, output, summary = (self.folder / name for name in ("step.sh", "output", "summary"))
        script.write_text(step["run"])
        output.write_text("")
        own = {name: _text(value, values) for name, value in step.get("env", {}).items()}
        self.done.append(
            complete(
                ["bash", "--noprofile", "--norc", "-eo", "pipefail", str(script)],
                env={
                    **self.variables,
                    "GITHUB_OUTPUT": str(output),
                    "GITHUB_STEP_SUMMARY": str(summary),
                    **own,
                },
                cwd=self.workspace,
            )
        )
        for line in output.read_text().splitlines():
            name, _, value = line.partition("=")
            values[f"steps.{step['id']}.outputs.{name}"] = value
        return self.done[-1].returncode == 0


def variables(python: pathlib.Path, **more: str) -> dict[str, str]:
    """Returns the environment variables of a job whose `python` is this one, without a package index."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
    own = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    pip = {"PIP_NO_INDEX": "1", "PIP_NO_BUILD_ISOLATION": "0", "PIP_DISABLE_PIP_VERSION_CHECK": "1"}
    return {**inherited, **own, **pip, **more}


def _text(text: str, values: Mapping[str, str]) -> str:
    return re.sub(r"\$\{\{ ([\w.-]+) \}\}", lambda found: values[found[1]], text)


def _holds(condition: str, values: Mapping[str, str]) -> bool:
    found = re.fullmatch(r"\$\{\{ ([\w.]+) == '(\w+)' \}\}", condition)
    assert found
    return values[found[1]] == found[2]
