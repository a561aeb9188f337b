"""Installs a combination of torch, Python and torch_npu, and runs the smoke tests on it.

python -m tests.releases 2.9.1-npu [NAME ...] [--brief] [--keep FOLDER]     # or all

uv installs them, in seconds where its cache holds the files: a build of torch for CUDA is 3 GB to download.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from morph.base import toml
from tests.platforms import REPOSITORY

FILE = pathlib.Path(__file__).parent / "releases.toml"
NEWEST, OF_NPU = "newest", "as torch_npu"  # torch's of the same minor release
BRIEF = ["tests/seam", "tests/native", "tests/activation/test_misfits.py"]
TESTS = ["tests/programs", *BRIEF]


@dataclasses.dataclass(frozen=True)
class Release:
    """One combination of releases.

    Attributes:
        name: As on the command line.
        torch: The release of torch, `NEWEST`, or `OF_NPU`.
        python: The release of Python, whose interpreter is on PATH.
        platforms: The platforms that its tests run on.
        torch_npu: The release of torch_npu, or `NEWEST`, if it is a part of the combination.
        tests: The files and folders of tests that it runs.
        marks: Which of these it runs, as pytest's `-m`: the programs are long tests.
        idioms: Whether the idioms are run on each platform after them.
    """

    name: str
    torch: str
    python: str
    platforms: list[str]
    torch_npu: str | None = None
    tests: list[str] = dataclasses.field(default_factory=lambda: TESTS)
    marks: str = ""
    idioms: bool = True

    def brief(self) -> Release:
        """Return the same combination without the programs, the long tests and the idioms."""
        return dataclasses.replace(self, tests=BRIEF, marks="not long", idioms=False)

    def install(self, folder: pathlib.Path) -> pathlib.Path:
        """Install the combination and the project into a virtual environment, and return its Python.

        Args:
            folder: The environment's folder; one that was installed whole is used as it is.

        Raises:
            subprocess.CalledProcessError: If there is no such Python, or something cannot be installed.
        """
        python, installed = folder / "bin" / "python", folder / "installed"
        if installed.exists():
            return python
        uv = [sys.executable, "-m", "uv", "--quiet"]
        pip = [*uv, "pip", "install", "--compile-bytecode", "--python", python]
        subprocess.run([*uv, "venv", "--clear", "--seed", "--python", self.python, folder], check=True)
        if self.torch_npu:
            subprocess.run([*pip, "--no-deps", _requirement("torch_npu", self.torch_npu)], check=True)
        torch = self.torch if self.torch != OF_NPU else _release_of_npu(python)
        wanted = [_requirement("torch", torch), "--editable", f"{REPOSITORY}[test-release]"]
        subprocess.run([*pip, *wanted], check=True)
        installed.touch()
        return python

    def test(self, python: pathlib.Path) -> bool:
        """Run its tests, and the idioms, which print those that fail; return whether every test passed."""
        environment = {
            **os.environ,
            "MORPH_TEST_PLATFORMS": ",".join(self.platforms),
            "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
        }
        options = ["-q", "-n", "auto", "-p", "no:cacheprovider", "-m", self.marks]
        tests = [python, "-m", "pytest", *options, *self.tests]  # builds the native parts
        passed = subprocess.run(tests, cwd=REPOSITORY, env=environment, check=False).returncode == 0
        for name in self.platforms if self.idioms else ():
            idioms = [python, "-m", "tests.idioms.run", "--platform", name]
            subprocess.run(idioms, cwd=REPOSITORY, env=environment, check=True)
        return passed


def _requirement(package: str, release: str) -> str:
    return package if release == NEWEST else f"{package}=={release}"


def _release_of_npu(python: pathlib.Path) -> str:
    query = "import importlib.metadata as m; print(*m.version('torch_npu').split('.')[:2], sep='.')"
    done = subprocess.run([python, "-c", query], check=True, stdout=subprocess.PIPE, text=True)
    return f"{done.stdout.strip()}.*"


def releases() -> dict[str, Release]:
    """Return the combinations of releases.toml by name."""
    rows = toml.loads(FILE.read_text())
    return {name: Release(name, **row) for name, row in rows.items()}


def main() -> int:
    """Run the combinations that the command line names; return 1 if a test of one failed."""
    known = releases()
    parser = argparse.ArgumentParser("python -m tests.releases", description="Test other releases of torch.")
    parser.add_argument(
        "name", nargs="*", default="all", choices=[*known, "all"], help=", ".join([*known, "all"])
    )
    parser.add_argument("--names", action="store_true", help="print the names of fixed releases, as JSON")
    parser.add_argument(
        "--keep", type=pathlib.Path, metavar="FOLDER", help="keep the environments here, and use those"
    )
    parser.add_argument("--brief", action="store_true", help="no programs, long tests or idioms")
    asked = parser.parse_args()
    if asked.names:
        print(json.dumps([name for name in known if not name.startswith(NEWEST)]))
        return 0
    if asked.brief:
        known = {name: release.brief() for name, release in known.items()}
    names = known if "all" in asked.name else asked.name
    failed = [name for name in names if not _passes(known[name], asked.keep)]
    if failed:
        print(f"failed: {', '.join(failed)}")
    return 1 if failed else 0


def _passes(release: Release, keep: pathlib.Path | None) -> bool:
    print(f"== {release}", flush=True)
    if keep is not None:
        return release.test(release.install(keep / release.name))
    with tempfile.TemporaryDirectory() as folder:  # gigabytes, so one at a time
        return release.test(release.install(pathlib.Path(folder)))


if __name__ == "__main__":
    raise SystemExit(main())
