"""A copy of the repository in which a mutant replaces its file while the tests near it run."""

import compileall
import contextlib
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator

import platformdirs
from cosmic_ray.testing import run_tests
from cosmic_ray.work_item import TestOutcome

from tests import platforms
from tests.mutation.mutants import Mutant
from tests.platforms import REPOSITORY

_PLATFORMS = "cpu,simulated-npu"  # the real torch_npu takes too long for what it would add
_LIMIT = 600.0


class Copy:
    """A copy of the working tree and of the cache of native parts, so that a mutant spoils neither.

    Attributes:
        folder: Where the copy is; it is the working directory too.
    """

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        self._limits: dict[tuple[str, ...], float] = {}

    def limit(self, tests: tuple[str, ...]) -> float:
        """Return the tests' time limit, three times what they take unchanged.

        Raises:
            RuntimeError: If they fail unchanged.
        """
        if tests not in self._limits:
            start = time.monotonic()
            outcome, output = run_tests(_command(tests), _LIMIT)
            if outcome is not TestOutcome.SURVIVED:
                raise RuntimeError(f"the tests fail without a change:\n{output}")
            self._limits[tests] = 3 * (time.monotonic() - start) + 10
        return self._limits[tests]

    def kills(self, mutant: Mutant, tests: tuple[str, ...]) -> bool:
        """Return whether the tests fail, or run too long, with a mutant in place of its file."""
        limit = self.limit(tests)
        with self._replaced(mutant):
            outcome, _ = run_tests(_command(tests), limit)
        return bool(outcome is not TestOutcome.SURVIVED)

    @contextlib.contextmanager
    def _replaced(self, mutant: Mutant) -> Iterator[None]:
        path = self.folder / mutant.file
        text, status = path.read_text(), path.stat()
        path.write_text(mutant.text)
        try:
            yield
        finally:
            path.write_text(text)
            os.utime(path, ns=(status.st_atime_ns, status.st_mtime_ns))  # its cached bytecode is valid again


@contextlib.contextmanager
def copy() -> Iterator[Copy]:
    """Copy the repository, and use the copy as the working directory in the ``with`` block."""
    with tempfile.TemporaryDirectory(prefix="morph-mutation-") as folder:
        home = pathlib.Path(folder)
        _copy_tree(home / "repository")
        _copy_cache(home / "cache")
        here = pathlib.Path.cwd()
        os.environ.update(_variables(home))
        os.chdir(home / "repository")
        compileall.compile_dir(".", quiet=2)
        try:
            yield Copy(home / "repository")
        finally:
            os.chdir(here)


def _copy_tree(target: pathlib.Path) -> None:
    listed = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    done = subprocess.run(listed, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    for name in filter(None, done.stdout.split("\0")):
        if os.path.lexists(REPOSITORY / name):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(REPOSITORY / name, target / name, follow_symlinks=False)


def _copy_cache(target: pathlib.Path) -> None:
    kept = pathlib.Path(os.environ.get("MORPH_CACHE") or platformdirs.user_cache_path("morph"))
    if kept.is_dir():
        shutil.copytree(kept, target, ignore=shutil.ignore_patterns("*.lock", "*.building"))


def _variables(home: pathlib.Path) -> dict[str, str]:
    return {
        "MORPH_CACHE": str(home / "cache"),
        platforms.CHOICE: _PLATFORMS,
        "OMP_NUM_THREADS": "1",
        "PYTHONPATH": os.pathsep.join([str(home / "repository"), os.environ.get("PYTHONPATH", "")]),
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }


def _command(tests: tuple[str, ...]) -> str:
    options = ["-m", "pytest", "-x", "-q", "-n0", "-p", "no:cacheprovider"]
    return shlex.join([sys.executable, *options, *tests])
