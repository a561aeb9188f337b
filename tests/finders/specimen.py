"""A bare checkout with the specimen's tree, and real distributions of the specimen next to it."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import textwrap
import zipfile
from dataclasses import dataclass, field

from tests.platforms import complete, describe

OURS = ("MORPH_BACKEND", "MORPH_ANNOUNCED", "MORPH_SCOPE")


@dataclass(frozen=True)
class Checkout:
    """A bare checkout whose aliases contain the specimen's tree, and distributions installed next to it."""

    folder: pathlib.Path
    installed: list[pathlib.Path] = field(default_factory=list)

    def run(
        self, code: str, *, morph: bool = True, check: bool = True, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run ``code`` outside the checkout, under morph or plain Python."""
        kept = {name: value for name, value in os.environ.items() if name not in OURS}
        path = os.pathsep.join(map(str, [self.folder, *self.installed]))
        launcher = ["-m", "morph", "--backend", "cpu"] if morph else []
        command = [sys.executable, *launcher, "-c", textwrap.dedent(code)]
        environment = {**kept, "PYTHONPATH": path, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", **variables}
        done = complete(command, env=environment, cwd=self.folder.parent)
        assert not check or done.returncode == 0, describe(done)
        return done

    def with_installed(self, *folders: pathlib.Path) -> Checkout:
        """Return the checkout with folders of installed distributions next to it."""
        return Checkout(self.folder, list(folders))


def install(folder: pathlib.Path, distribution: str, files: dict[str, str]) -> pathlib.Path:
    """Build a wheel and have pip install it below ``folder``."""
    name = f"{distribution.replace('-', '_')}-1.5"
    wheel = folder / f"{name}-py3-none-any.whl"
    info = {
        "METADATA": f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.5\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for file, text in {**files, **{f"{name}.dist-info/{k}": v for k, v in info.items()}}.items():
            archive.writestr(file, text)
        listed = "".join(f"{file},,\n" for file in [*archive.namelist(), f"{name}.dist-info/RECORD"])
        archive.writestr(f"{name}.dist-info/RECORD", listed)
    target = folder / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", target]
    done = complete([*map(str, pip), str(wheel)])
    assert done.returncode == 0, describe(done)
    return target
