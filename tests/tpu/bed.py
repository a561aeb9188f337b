"""Google's torch_tpu as it is on the index, on XLA's compiler for the CPU: its kernels without a TPU.

torch_tpu computes by whatever PJRT plug-in `TPU_LIBRARY_PATH` names. Here that is XLA's for the CPU, by a
plug-in around it (`plugin.cpp`) that gives a process one device. Both are in a virtual environment of their
own: torch_npu refuses to be loaded where there is another accelerator.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
from collections.abc import Callable

import filelock

from tests import installation
from tests.ascend.build import cache_folder
from tests.installation import FreshEnvironment

WHEELS = ("torch-tpu==0.2.0", "fastatomstruct-xla-cpu==2026.6.23")
# of torch_tpu's requirements those that it imports here; libtpu and tensorboard are not among them
REQUIREMENTS = ("absl-py>=2", "frozendict>=2", "immutabledict>=4", "portpicker>=1.6", "pyzmq>=27")
SOURCES = pathlib.Path(__file__).parent
HOOK = "tpu_hardware"


class CannotInstallError(Exception):
    """The test bed cannot be made on this machine; the message says why."""


def environment(progress: Callable[[str], None]) -> FreshEnvironment:
    """Returns the virtual environment with torch_tpu, made unless the cache holds it.

    Args:
        progress: Called with one line before it is made.

    Raises:
        CannotInstallError: If Python is too old, there is no compiler, or pip fails.
    """
    if sys.version_info < (3, 11):
        raise CannotInstallError("torch_tpu needs Python 3.11")
    folder = cache_folder() / f"tpu-{_identity()}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(f"{folder}.lock"):
        if not folder.exists():
            progress("installing torch_tpu and XLA's plug-in for the CPU, once (about a minute)")
            _make(folder)
    return FreshEnvironment(folder)


def variables(bed: FreshEnvironment) -> dict[str, str]:
    """Returns the environment variables that make torch_tpu compute on the CPU."""
    xla = bed.packages / "fastatomstruct_xla_cpu" / "libpjrt_cpu.so"
    return {"TPU_LIBRARY_PATH": str(bed.folder / "plugin.so"), "XLA_CPU_PLUGIN": str(xla)}


def _make(folder: pathlib.Path) -> None:
    bed = installation.create(folder)
    try:
        where = [sys.executable, "-m", "pip", "--python", bed.python, "install", "--quiet", "--no-deps"]
        _run(*where, *WHEELS, *REQUIREMENTS)
        compiler = ["g++", "-std=c++17", "-O1", "-shared", "-fPIC", "-fvisibility=hidden"]
        _run(*compiler, *SOURCES.glob("*.cpp"), "-o", folder / "plugin.so", "-ldl")
        shutil.copy(SOURCES / "hardware.py", bed.packages / f"{HOOK}.py")
        (bed.packages / f"{HOOK}.pth").write_text(f"import {HOOK}\n", encoding="utf-8")
    except BaseException:
        shutil.rmtree(folder)
        raise


def _run(*command: object) -> None:
    try:
        words = [str(word) for word in command]
        done = subprocess.run(words, capture_output=True, text=True, check=False, timeout=600)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise CannotInstallError(str(error)) from None
    if done.returncode:
        raise CannotInstallError(f"{words[0]} fails: {done.stderr.strip()[-500:]}")


def _identity() -> str:
    """Returns a name for all that the environment is made of, the borrowed packages included."""
    digest = hashlib.sha256(f"{sys.executable} {sys.version} {os.environ.get('VIRTUAL_ENV')}".encode())
    native = sorted(file.name for file in SOURCES.iterdir() if file.suffix in {".cpp", ".h"})
    for file in ("bed.py", "hardware.py", *native):
        digest.update((SOURCES / file).read_bytes())
    return digest.hexdigest()[:16]
