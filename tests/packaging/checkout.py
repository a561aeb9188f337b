"""A repository with one commit, of the files that this one would commit now."""

import os
import pathlib
import shutil

from tests.platforms import REPOSITORY, complete, describe

AUTHOR = ["-c", "user.name=a stranger", "-c", "user.email=stranger@example.org", "-c", "commit.gpgsign=false"]


def git(*words: object, cwd: pathlib.Path = REPOSITORY) -> str:
    """Runs git and returns what it prints."""
    command = ["git", *AUTHOR, *map(str, words)]
    done = complete(command, cwd=cwd)
    assert done.returncode == 0, describe(done)
    return done.stdout


def files() -> list[str]:
    """Returns the paths of the repository's files, those that are new included."""
    listed = git("ls-files", "-z", "--cached", "--others", "--exclude-standard").split("\0")
    return [name for name in listed if name and os.path.lexists(REPOSITORY / name)]


def commit(folder: pathlib.Path) -> pathlib.Path:
    """Commits everything in a folder to a new repository in it."""
    git("init", "--quiet", cwd=folder)
    git("add", "--all", cwd=folder)
    git("commit", "--quiet", "--message", "Begin", cwd=folder)
    return folder


def clone(folder: pathlib.Path) -> pathlib.Path:
    """Makes the repository in a new folder."""
    for name in files():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(REPOSITORY / name, folder / name, follow_symlinks=False)
    return commit(folder)
