"""What compiles CUDA kernels of its own is refused by name, with the way out."""

import importlib.util
import pathlib

import pytest

from tests import origin
from tests.platforms import Platform


def run(platform: Platform, code: str, folder: pathlib.Path | None = None, **variables: str) -> str:
    """Return what a program prints under morph, in a folder with its modules."""
    code = f"import sys, torch\nsys.path.insert(0, {str(folder)!r})\n{code}"
    return origin.run(platform, code, morph=True, environment=variables).stdout.strip()


CAUGHT = """
for name in NAMES:
    try:
        __import__(name)
    except ImportError as error:
        print(type(error).__name__, error)
    import importlib.util
    print(importlib.util.find_spec(name) is not None)
"""


def refused(platform: Platform) -> dict[str, str]:
    """Return the packages that are refused, and what is said."""
    others = {"cupy": "use torch's tensors", "cupyx": "use torch, or SciPy"}
    return {"pycuda": "in Triton", **({} if platform.name == "cpu" else others)}  # where cupy runs


def test_not_installed(platform: Platform):
    names = refused(platform)
    lines = run(platform, f"NAMES = {[*names]}\n{CAUGHT}").splitlines()
    for name, line in zip(names, lines[::2], strict=True):
        assert line.startswith(f"ModuleNotFoundError No module named '{name}'")
        assert names[name] in line
    assert lines[1::2] == ["False"] * len(names)


def test_installed(platform: Platform, tmp_path: pathlib.Path):
    for file in ("cupy/_core/core.so", "cupyx/scipy/__init__.py", "pycuda/_driver.so"):
        (tmp_path / file).parent.mkdir(parents=True)
        (tmp_path / file).touch()
        (tmp_path / file.split("/")[0] / "__init__.py").touch()
    names = refused(platform)
    lines = run(platform, f"NAMES = {[*names]}\n{CAUGHT}", folder=tmp_path).splitlines()
    assert [line.partition(":")[0] for line in lines[::2]] == [
        f"ImportError {name} is installed but cannot be used" for name in names
    ]
    assert lines[1::2] == ["True"] * len(names)


def test_a_programs_own_module_of_this_name_is_imported(platform: Platform, tmp_path: pathlib.Path):
    (tmp_path / "cupy.py").write_text("zeros = 'its own'")
    assert run(platform, "import cupy; print(cupy.zeros)", folder=tmp_path) == "its own"


def test_deactivated_it_is_python_that_refuses(platform: Platform):
    code = "import morph\nmorph.deactivate()\ntry: import cupy\nexcept ImportError as error: print(error)"
    assert run(platform, code) == "No module named 'cupy'"


NUMBA = """
from numba import cuda
import numpy

@cuda.jit
def increment(x):
    i = cuda.grid(1)
    if i < x.size:
        x[i] += 1

x = numpy.zeros(4)
print(cuda.is_available())
try:
    increment[1, 32](x)
except cuda.cudadrv.error.CudaSupportError as error:
    print(error)
print(x)
"""


def test_numba_is_imported_and_a_launch_is_refused(platform: Platform):
    pytest.importorskip("numba")
    if platform.name == "cpu" and importlib.util.find_spec("numba_cuda"):
        pytest.skip("its kernels run")
    available, *said, x = run(platform, NUMBA).splitlines()
    assert (available, x) == ("False", "[0. 0. 0. 0.]")
    assert "write the kernel in Triton or with torch's operators; NUMBA_ENABLE_CUDASIM=1" in " ".join(said)


def test_numbas_simulator_is_left_alone(platform: Platform):
    pytest.importorskip("numba")
    assert run(platform, NUMBA, NUMBA_ENABLE_CUDASIM="1").splitlines() == ["True", "[1. 1. 1. 1.]"]
