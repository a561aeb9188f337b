"""A built wheel of the project, and fresh virtual environments to install it into."""

import dataclasses
import os
import pathlib
import shutil
import site
import subprocess
import sys
import venv
from collections.abc import Callable, Mapping

from tests.platforms import REPOSITORY, describe


@dataclasses.dataclass(frozen=True)
class FreshEnvironment:
    """A virtual environment that has its own copy of the project and borrows every other package."""

    folder: pathlib.Path

    @property
    def python(self) -> pathlib.Path:
        """The environment's interpreter."""
        return self.folder / "bin" / "python"

    @property
    def packages(self) -> pathlib.Path:
        """The environment's own site-packages."""
        return next(self.folder.glob("lib/python*/site-packages"))

    def install(self, *what: object) -> None:
        """Installs distributions without their dependencies and without a package index."""
        self._pip("install", "--no-deps", "--no-index", "--no-build-isolation", *what)

    def uninstall(self, distribution: str) -> None:
        """Uninstalls a distribution."""
        self._pip("uninstall", "--yes", distribution)

    def _pip(self, *words: object) -> None:
        command = [sys.executable, "-m", "pip", "--python", self.python, "--quiet", *words]
        done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
        assert done.returncode == 0, describe(done)

    def run(
        self,
        *arguments: object,
        environment: Mapping[str, str] | None = None,
        check: bool = True,
        cwd: pathlib.Path | None = None,
        rights: Callable[[], None] | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Runs the environment's Python, outside the repository.

        Args:
            *arguments: The command line of Python.
            environment: Variables to set; no `PYTHON*` variable is inherited.
            check: Whether an exit status other than zero fails the test.
            cwd: The working directory; the environment's folder unless given.
            rights: Called in the child process before it executes Python.
        """
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("PYTHON")}
        done = subprocess.run(
            [str(word) for word in [self.python, *arguments]],
            env={**inherited, **(environment or {})},
            cwd=cwd or self.folder,
            preexec_fn=rights,
            capture_output=True,
            text=True,
            timeout=300,
            check=False,
        )
        if check:
            assert done.returncode == 0, describe(done)
        return done


def create(folder: pathlib.Path) -> FreshEnvironment:
    """Creates a virtual environment that sees this interpreter's packages, but not its installed project."""
    venv.create(folder, with_pip=False, symlinks=True)
    fresh = FreshEnvironment(folder)
    # A path in a .pth file comes after the environment's own packages, and .pth files below it are not read.
    borrowed = [*site.getsitepackages(), site.getusersitepackages()]
    (fresh.packages / "borrowed.pth").write_text("".join(f"{path}\n" for path in borrowed))
    return fresh


def copy_sources(folder: pathlib.Path) -> pathlib.Path:
    """Copies the sources of a distribution, since setuptools leaves files next to them."""
    folder.mkdir(parents=True)
    for name in ("morph", "finders", "aliases", "pyproject.toml", "setup.py", "README.md"):
        source = REPOSITORY / name
        if source.is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(source, folder / name, symlinks=True, ignore=ignored)
        else:
            shutil.copy(source, folder)
    return folder


def build(kind: str, sources: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Builds a distribution into `folder`.

    Args:
        kind: "wheel" or "sdist".
        sources: The folder with pyproject.toml.
        folder: Where the distribution is written.
    """
    command = [sys.executable, "-m", "build", f"--{kind}", "--no-isolation", "--outdir", folder, sources]
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    assert done.returncode == 0, describe(done)
    return next(folder.glob("*.whl" if kind == "wheel" else "*.tar.gz"))
