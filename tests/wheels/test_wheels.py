"""Wheels with compiled C++ parts: what they hold, and that they start without a compiler."""

import json
import pathlib
import platform
import subprocess
import sys
import zipfile

import pytest
import torch

from morph.base.native.parts import parts
from morph.base.native.target import Target, release
from morph.running.wheels import headers, packing, serving
from morph.running.wheels.building import Builder, Library, WheelError, compiler
from tests.installation import FreshEnvironment, create
from tests.platforms import REPOSITORY

pytestmark = pytest.mark.long

LOAD = """
from morph.base import native
print(native.load(native.part("seam")).__file__)
"""
SERVED = """
from morph.base import native
from morph.kernels.libraries.loading import every
print(*map(native.provide, every("cpu", ["libnvToolsExt"])))
"""
MACHINE = platform.machine()
INCLUDE = pathlib.Path(torch.__path__[0], "include")
HERE = headers.Torch(torch.__version__, torch.version.git_version, Target.installed().pybind11_abi, INCLUDE)


@pytest.fixture(scope="module")
def seam(tmp_path_factory: pytest.TempPathFactory) -> Library:
    part = parts(REPOSITORY / "morph")["seam"]
    python = headers.of_python(sys.executable)
    return Builder(HERE, MACHINE, tmp_path_factory.mktemp("work")).build(part, python)


@pytest.fixture(scope="module")
def marks(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """The smallest of the served libraries."""
    (library,) = serving.build(MACHINE, tmp_path_factory.mktemp("served"), ["libnvToolsExt"])
    return library


@pytest.fixture(scope="module")
def platform_wheel(
    seam: Library, marks: Library, built_wheel: pathlib.Path, tmp_path_factory: pytest.TempPathFactory
) -> pathlib.Path:
    unpacked = packing.unpack(built_wheel, tmp_path_factory.mktemp("unpacked"))
    python = headers.of_python(sys.executable)
    return packing.pack(unpacked, [seam, marks], python, MACHINE, tmp_path_factory.mktemp("dist"))


@pytest.fixture
def environment(platform_wheel: pathlib.Path, tmp_path: pathlib.Path) -> FreshEnvironment:
    environment = create(tmp_path / "environment")
    environment.install(platform_wheel)
    return environment


def load(environment: FreshEnvironment, tmp_path: pathlib.Path, program: str = LOAD) -> str:
    without = {
        "CXX": "no-such-compiler",
        "MORPH_CACHE": str(tmp_path / "cache"),
        "TMPDIR": str(tmp_path),
        "TORCH_DEVICE_BACKEND_AUTOLOAD": "0",
    }
    done = environment.run("-c", program, environment=without, check=False)
    return done.stdout + done.stderr


def test_an_installed_library_is_loaded_without_a_compiler(
    environment: FreshEnvironment, tmp_path: pathlib.Path
) -> None:
    loaded = pathlib.Path(load(environment, tmp_path).strip())
    assert loaded.parent == environment.packages / "morph" / "base" / "native" / "libraries"
    assert not (tmp_path / "cache").exists()


def test_a_served_library_needs_no_compiler(environment: FreshEnvironment, tmp_path: pathlib.Path) -> None:
    loaded = pathlib.Path(load(environment, tmp_path, SERVED).strip())
    assert loaded.is_relative_to(environment.packages / "morph" / "base" / "native" / "libraries" / "shared")
    assert not (tmp_path / "cache").exists()


def test_a_library_of_another_torch_is_not_loaded() -> None:
    seam, target = parts()["seam"], Target.installed()
    assert seam.file(target) == seam.file(Target.installed())
    assert seam.file(target) != seam.file(target._replace(torch="2.9.1"))
    assert seam.file(target) != seam.file(target._replace(revision="0" * 40))


def test_a_truncated_library_is_not_loaded(environment: FreshEnvironment, tmp_path: pathlib.Path) -> None:
    (library,) = (environment.packages / "morph" / "base" / "native" / "libraries").glob("*.so")
    library.write_bytes(library.read_bytes()[:1000])
    assert "no C++ compiler: no-such-compiler" in load(environment, tmp_path)


def test_the_wheel_is_tagged_for_its_python_and_records_what_it_holds(platform_wheel: pathlib.Path) -> None:
    python = headers.of_python(sys.executable)
    assert platform_wheel.name.endswith(f"-{python.tag}-{python.tag}-manylinux_2_34_{MACHINE}.whl")
    with zipfile.ZipFile(platform_wheel) as archive:
        record = json.loads(archive.read("morph/base/native/libraries/record.json"))
        sizes = {name: archive.getinfo(f"morph/base/native/libraries/{name}").file_size for name in record}
    assert sizes == {name: built["size"] for name, built in record.items()}
    assert {built["part"] for built in record.values()} == {"seam", "libnvToolsExt.so.1"}
    built = next(built for built in record.values() if built["part"] == "seam")
    assert (built["part"], built["torch"], built["headers"]) == (
        "seam", release(torch.__version__), torch.__version__,
    )  # fmt: skip
    assert built["revision"] == torch.version.git_version
    assert built["python"] == python.version


def test_upstreams_builds_of_a_release_share_their_libraries_and_others_do_not() -> None:
    assert {release("2.9.1"), release("2.9.1+cpu"), release("2.9.1+cu128")} == {"2.9.1"}
    assert release("2.9.1+rocm6.4") == "2.9.1+rocm6.4"
    assert release("2.9.1a0+gitabc") == "2.9.1a0+gitabc"


def test_a_machine_without_its_compiler_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/nowhere")
    with pytest.raises(WheelError, match="aarch64-linux-gnu-g.* not found; install g"):
        compiler("aarch64")


def test_bad_input_ends_in_one_line(tmp_path: pathlib.Path) -> None:
    def command(*words: object) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "morph.running.wheels", *map(str, words)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    (tmp_path / "x.whl").write_text("no archive")
    for words, problem in {
        (tmp_path / "x.whl",): "wheel unpack failed: ",
        (tmp_path / "x.whl", "--torch", "1.0"): "releases.toml has no torch 1.0; it has 2.7.1, ",
        (tmp_path / "x.whl", "--python", "no-python"): "no-python is no Python that starts: ",
    }.items():
        done = command(*words)
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr.startswith(f"morph: {problem}"), done.stderr
        assert done.stderr.count("\n") == 1
