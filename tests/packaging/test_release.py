"""The command that makes a release, on a copy of the repository."""

import datetime
import pathlib
import re
import subprocess
import sys

import pytest

from tests.packaging.checkout import clone, git
from tests.platforms import REPOSITORY, complete, describe

NOTES = re.findall(r"^- .*", (REPOSITORY / "CHANGELOG.md").read_text(encoding="utf-8"), re.MULTILINE)


@pytest.fixture
def repository(tmp_path: pathlib.Path) -> pathlib.Path:
    repository = clone(tmp_path / "repository")
    for name, value in {"name": "a stranger", "email": "stranger@example.org"}.items():
        git("config", f"user.{name}", value, cwd=repository)
    return repository


def command(repository: pathlib.Path, *words: str) -> subprocess.CompletedProcess[str]:
    words = (sys.executable, ".ci/release.py", *words)
    return complete(words, cwd=repository)


def test_a_release_has_a_version_a_section_a_note_and_a_tag(repository: pathlib.Path) -> None:
    done = command(repository, "7.8.9")
    assert done.returncode == 0, describe(done)
    assert '\n__version__ = "7.8.9"\n' in (repository / "morph" / "__init__.py").read_text()
    today = datetime.date.today().isoformat()
    assert f"## [Unreleased]\n\n## [7.8.9] - {today}\n" in (repository / "CHANGELOG.md").read_text()
    assert git("describe", cwd=repository) == "v7.8.9\n"
    assert git("show", "--no-patch", "--format=%s", "HEAD", cwd=repository) == "Release 7.8.9\n"
    note = command(repository, "--note").stdout
    assert note.startswith("### Added\n")
    assert NOTES[0] in note
    again = command(repository, "7.8.10")
    assert (again.returncode, again.stderr) == (1, "CHANGELOG.md says nothing under [Unreleased]\n")


def test_what_is_no_release_is_refused(repository: pathlib.Path) -> None:
    assert "say the version, as in 0.2.0" in command(repository, "next").stderr
    assert "CHANGELOG.md has no section ## [" in command(repository, "--note").stderr
    (repository / "new.txt").write_text("not committed")
    assert "changes that are not committed" in command(repository, "7.8.9").stderr
    assert git("tag", cwd=repository) == ""
