"""Builds the soft CANN: a library that replaces Ascend's, with which the real torch_npu runs on a CPU.

    python -m tests.ascend.build    prints the `export` lines that let a shell's Python use it

It is built once for each torch, torch_npu, Python and state of the sources, and cached in
`$MORPH_TEST_CACHE`, else in `morph-tests` of the user's cache.
"""

import hashlib
import importlib.metadata
import importlib.util
import os
import pathlib
import shlex
import shutil
import subprocess
import sys
import sysconfig
import tempfile
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import filelock

from tests.ascend import symbols

SOURCES = pathlib.Path(__file__).parent
LIBRARY = "libsoftcann.so"
COMPILE = ("g++", "-c", "-fPIC", "-O1", "-std=c++20", "-fvisibility=hidden", "-w")
# Each folder is compiled as one unit: reading ATen's headers takes most of the time.
UNITS = ("operators", "kernels", "collectives", "runtime", "graph_engine")
# Opened by name while torch_npu runs, so no ELF file lists them.
OPENED_BY_NAME = (
    "libascend_dump.so",
    "libascend_hal.so",
    "libascend_ml.so",
    "libhcomm.so",
    "libms_tools_ext.so",
    "libmsprofiler.so",
    "libmspti.so",
    "libnnopbase.so",
    "libopapi.so",
)
# torch_npu requires these in $ASCEND_HOME_PATH.
FOLDERS = ("lib64", "opp", "runtime", "compiler")

Progress = Callable[[str], None]


class CannotBuildError(Exception):
    """The soft CANN cannot be built here; the message says what is missing."""


def cache_folder() -> pathlib.Path:
    """Returns the folder in which built runtimes are cached."""
    chosen = os.environ.get("MORPH_TEST_CACHE")
    if chosen:
        return pathlib.Path(chosen).absolute()
    return pathlib.Path(os.environ.get("XDG_CACHE_HOME") or "~/.cache").expanduser() / "morph-tests"


def build(progress: Progress) -> pathlib.Path:
    """Builds the runtime unless the cache holds it; safe against other processes that do the same.

    Args:
        progress: Called with one line before a build.

    Returns:
        The folder for `$ASCEND_HOME_PATH`.

    Raises:
        CannotBuildError: If torch_npu or the compiler is absent, or the compiler fails.
    """
    _require_packages_and_tools()
    folder = cache_folder() / f"soft-cann-{_identity()}"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with filelock.FileLock(f"{folder}.lock"):
        if not folder.exists():
            progress("building the soft CANN for torch_npu, once (about 20 seconds)")
            _build_atomically(folder)
    return folder


def environment(folder: pathlib.Path) -> dict[str, str]:
    """Returns the environment variables that make torch_npu use the runtime in a folder."""
    paths = [str(folder / "lib64"), *filter(None, [os.environ.get("LD_LIBRARY_PATH")])]
    return {
        "ASCEND_HOME_PATH": str(folder),
        "ASCEND_OPP_PATH": str(folder / "opp"),
        "LD_LIBRARY_PATH": os.pathsep.join(paths),
        # Otherwise torch_npu silently drops what was queued behind an operator that fails.
        "ASCEND_LAUNCH_BLOCKING": "1",
    }


def _require_packages_and_tools() -> None:
    for package in ("torch", "torch_npu"):
        if importlib.util.find_spec(package) is None:
            raise CannotBuildError(f"{package} is not installed")
    for tool in ("g++", "nm", "readelf"):
        if shutil.which(tool) is None:
            raise CannotBuildError(f"{tool} is not installed")


def _identity() -> str:
    digest = hashlib.sha256()
    code = [file for pattern in ("*.h", "*/*.h", "*/*.cpp") for file in SOURCES.glob(pattern)]
    for file in sorted([*code, pathlib.Path(__file__), pathlib.Path(symbols.__file__)]):
        digest.update(file.name.encode() + b"\0" + file.read_bytes())
    releases = [importlib.metadata.version(package) for package in ("torch", "torch_npu")]
    return "-".join([*releases, str(sysconfig.get_config_var("SOABI")), digest.hexdigest()[:16]])


def _build_atomically(folder: pathlib.Path) -> None:
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=folder.name) as scratch:
        built = pathlib.Path(scratch) / "cann"
        try:
            _build_into(built, pathlib.Path(scratch))
        except subprocess.CalledProcessError as error:
            raise CannotBuildError(f"{shlex.join(error.cmd)} failed:\n{error.stderr}") from None
        os.replace(built, folder)


def _build_into(folder: pathlib.Path, scratch: pathlib.Path) -> None:
    for name in FOLDERS:
        (folder / name).mkdir(parents=True)
    with ThreadPoolExecutor(os.cpu_count()) as threads:
        objects = list(threads.map(lambda unit: _compile(unit, scratch), UNITS))
    vendor = list(_package_folder("torch_npu").rglob("*.so"))
    stubs = _compile_stubs(vendor, objects, scratch)
    _link([*objects, stubs], folder / "lib64" / LIBRARY)
    for name in {*_cann_libraries(vendor), *OPENED_BY_NAME}:
        (folder / "lib64" / name).symlink_to(LIBRARY)


def _compile(unit: str, scratch: pathlib.Path) -> pathlib.Path:
    source, result = scratch / f"{unit}.cpp", scratch / f"{unit}.o"
    files = sorted((SOURCES / unit).glob("*.cpp"))
    source.write_text("".join(f'#include "{file}"\n' for file in files))
    symbols.output(*COMPILE, f"-I{SOURCES}", *_include_options(), source, "-o", result)
    return result


def _include_options() -> Iterator[str]:
    vendor, torch = _package_folder("torch_npu") / "include", _package_folder("torch") / "include"
    for folder in (vendor, vendor / "third_party/acl/inc", torch, torch / "torch/csrc/api/include"):
        yield f"-I{folder}"


def _compile_stubs(
    vendor: list[pathlib.Path], objects: list[pathlib.Path], scratch: pathlib.Path
) -> pathlib.Path:
    asked = set().union(*map(symbols.undefined, vendor))
    given = set().union(*map(symbols.defined_in_object, objects), *map(symbols.defined, _present(vendor)))
    names = {name for name in asked - given if not name.startswith(("Py", "_Py"))}
    headers = (_package_folder("torch_npu") / "include").rglob("*.h")
    source, result = scratch / "stubs.c", scratch / "stubs.o"
    source.write_text(symbols.stub_source(names, symbols.declared_with_status(headers)))
    symbols.output("gcc", "-c", "-fPIC", "-O1", source, "-o", result)
    return result


def _present(vendor: list[pathlib.Path]) -> list[pathlib.Path]:
    """Returns the libraries that exist without CANN: the vendor's own, torch's and the system's."""
    system = filter(None, map(_system_library, set().union(*map(symbols.needed, vendor))))
    return [*vendor, *(_package_folder("torch") / "lib").glob("*.so*"), *system]


def _cann_libraries(vendor: list[pathlib.Path]) -> set[str]:
    present = {file.name for file in _present(vendor)}
    return set().union(*map(symbols.needed, vendor)) - present


def _system_library(name: str) -> pathlib.Path | None:
    path = pathlib.Path(symbols.output("g++", f"-print-file-name={name}").strip())
    return path if path.is_absolute() else None


def _link(objects: list[pathlib.Path], library: pathlib.Path) -> None:
    torch = _package_folder("torch") / "lib"
    libraries = (f"-L{torch}", "-ltorch_cpu", "-lc10", "-lpthread", "-ldl")
    symbols.output("g++", "-shared", f"-Wl,-soname,{library.name}", *objects, *libraries, "-o", library)


def _package_folder(name: str) -> pathlib.Path:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return pathlib.Path(spec.submodule_search_locations[0])


def main() -> None:
    """Builds the runtime and prints its environment for a shell."""
    folder = build(lambda line: print(line, file=sys.stderr))
    for name, value in environment(folder).items():
        print(f"export {name}={shlex.quote(value)}")


if __name__ == "__main__":
    main()
