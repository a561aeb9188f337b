"""A package that holds an extension compiled for NVIDIA's GPUs: its import says so, and what to do."""

import pathlib
import subprocess
import sysconfig

import pytest

from tests.launcher.test_hardship import shell
from tests.platforms import Platform

pytestmark = pytest.mark.platforms("cpu")
GUARDED = """
try:
    import kernels
except ImportError as error:
    raise RuntimeError("no kernels") from error
"""


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    """A folder with an extension that is linked to a library of a CUDA that no torch has now."""
    library = tmp_path / "libcublas.so.10"
    extension = tmp_path / f"kernels{sysconfig.get_config_var('EXT_SUFFIX')}"
    build = ["c++", "-shared", "-x", "c++", "/dev/null", "-x", "none", "-Wl,--no-as-needed"]
    subprocess.run([*build, f"-Wl,-soname,{library.name}", "-o", library], check=True)
    subprocess.run([*build, library, "-o", extension], check=True)
    library.unlink()
    return tmp_path


@pytest.mark.parametrize("program", ["import kernels", GUARDED], ids=["uncaught", "as a cause"])
def test_its_import_says_what_it_is(platform: Platform, folder: pathlib.Path, program: str) -> None:
    words = {"WHAT": f"import torch\n{program}", "PYTHONPATH": str(folder)}
    status, _, errors = shell(platform, '$MORPH -c "$WHAT"', **words)
    assert status == 1
    assert "ImportError: libcublas.so.10: cannot open shared object file" in errors
    assert errors.count("kernels was compiled for NVIDIA's GPUs, and no other device runs it") == 1


def test_another_missing_library_is_the_programs_own(platform: Platform, folder: pathlib.Path) -> None:
    extension = next(folder.glob("kernels*"))
    extension.write_bytes(extension.read_bytes().replace(b"libcublas.so.10", b"libzulu88.so.10"))
    status, _, errors = shell(platform, '$MORPH -c "import torch, kernels"', PYTHONPATH=str(folder))
    assert status == 1
    assert "ImportError: libzulu88.so.10" in errors
    assert "NVIDIA" not in errors
