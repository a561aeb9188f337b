"""`pytest --morph` in projects that know nothing of morph, in an environment where it is installed."""

import pathlib
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass

import pytest

from tests.installation import FreshEnvironment
from tests.platforms import platform

CONFTEST = """
import torch

AVAILABLE = torch.cuda.is_available()
"""
TESTS = """
import os, subprocess, sys

import pytest
import torch

needs_cuda = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA")


def child(queue):
    queue.put(torch.ones(2, device="cuda").is_cuda)


@needs_cuda
def test_on_the_device():
    assert torch.ones(2).cuda().sum().is_cuda


@pytest.mark.cuda_devices(2)
def test_two_devices():
    assert torch.ones(2, device="cuda:1").get_device() == 1
"""
CHILDREN = """
@needs_cuda
def test_a_spawned_process():
    context = torch.multiprocessing.get_context("spawn")
    queue = context.SimpleQueue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    assert queue.get()
    process.join()


@needs_cuda
def test_a_subprocess():
    look = "import torch; print(torch.cuda.device_count())"
    done = subprocess.run([sys.executable, "-c", look], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == (f"{torch.cuda.device_count()}\\n", "")
"""
INI = """
[pytest]
addopts = --strict-markers --strict-config -p no:cacheprovider
filterwarnings = error
"""
CPU = "--morph-backend", "cpu"
MODULES = """
import sys

def test_modules():
    found = {name for name in sys.modules if name.partition(".")[0] in ("morph", "torch", "wrapt", "rich")}
    assert found <= {"morph", "morph.running", "morph.running.pytest_plugin"}
    assert not any("morph" in repr(finder) for finder in sys.meta_path)
"""


@dataclass(frozen=True)
class Project:
    """A project with tests, and the environment that runs them."""

    environment: FreshEnvironment
    folder: pathlib.Path

    def write(self, **files: str) -> None:
        """Write the project's files, each named without its suffix."""
        for name, text in files.items():
            (self.folder / f"{name}{'.ini' if name == 'pytest' else '.py'}").write_text(text)

    def python(
        self, *words: str, variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run Python in the project's folder."""
        cpu = platform("cpu", {}).environment
        settings = {name: cpu[name] for name in ("XDG_CACHE_HOME", "OMP_NUM_THREADS")}
        return self.environment.run(
            *words, environment={**settings, **(variables or {})}, cwd=self.folder, check=False
        )

    def pytest(
        self, *options: str, variables: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        """Run ``python -m pytest``."""
        return self.python("-m", "pytest", *options, variables=variables)


@pytest.fixture
def project(environment: FreshEnvironment, tmp_path: pathlib.Path) -> Project:
    made = Project(environment, tmp_path)
    made.write(pytest=INI, conftest=CONFTEST, test_cuda=TESTS)
    return made


def assert_ran(
    done: subprocess.CompletedProcess[str], result: str, devices: str = "the CPU, 2 devices"
) -> None:
    """Assert a run's result, and that all of its output says once what CUDA is."""
    assert result in done.stdout, done.stdout + done.stderr
    (line,) = [line for line in (done.stdout + done.stderr).splitlines() if "cuda is" in line]
    assert line.startswith("morph: cuda is ")
    assert f"({devices})" in line


def test_costs_nothing_where_it_is_not_asked_for(project: Project) -> None:
    project.write(conftest="", test_cuda=MODULES)
    done = project.pytest("-p", "xdist", "-n0")
    assert "1 passed" in done.stdout, done.stdout
    assert "morph:" not in done.stdout + done.stderr


def test_without_morph_the_tests_are_skipped(project: Project) -> None:
    project.write(pytest=f"{INI}\nmorph = true\n")
    done = project.pytest("-rs", "-o", "morph=false")
    assert "2 skipped" in done.stdout, done.stdout
    assert "morph:" not in done.stdout + done.stderr
    assert "SKIPPED [1] test_cuda.py:19: CUDA devices: 2 needed, 0 found" in done.stdout


@pytest.mark.parametrize(
    "mode", ["importlib", *(pytest.param(mode, marks=pytest.mark.long) for mode in ("prepend", "append"))]
)
def test_with_every_mode_of_import(project: Project, mode: str) -> None:
    options = "--morph", *CPU, "--morph-devices", "2", f"--import-mode={mode}"
    assert_ran(project.pytest(*options), "2 passed")


def test_the_ini_file_asks_for_it_and_the_marker_skips(project: Project) -> None:
    project.write(pytest=f"{INI}\nmorph = true\n")
    script = "import sys, pytest; sys.exit(pytest.main())"
    done = project.python("-c", script, "-rs", "--morph-backend=cpu", "--morph-device-memory=1GiB")
    assert_ran(done, "1 passed, 1 skipped", "the CPU, 1 device")
    assert "SKIPPED [1] test_cuda.py:19: CUDA devices: 2 needed, 1 found" in done.stdout


@pytest.mark.long
def test_each_worker_of_xdist_has_its_own_devices(project: Project) -> None:
    allocated = """
@pytest.mark.parametrize("number", range(4))
def test_memory(number):
    assert torch.cuda.memory_allocated() == 0 and torch.cuda.device_count() == 2
    assert torch.cuda.get_device_properties(0).total_memory == 1 << 30
    torch.empty(600 << 20, dtype=torch.uint8, device="cuda")
"""
    project.write(test_cuda=TESTS + CHILDREN + allocated)
    options = *CPU, "--morph-devices=2", "--morph-device-memory=1GiB", "-n2"
    assert_ran(project.pytest(*options), "8 passed")


def test_quietly(project: Project) -> None:
    done = project.pytest("-q", *CPU, "--morph-devices=2")
    assert "2 passed" in done.stdout
    assert "morph" not in done.stdout + done.stderr


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--morph-backend=ncpu"], "there is no backend 'ncpu'; the backends are "),
        (["--morph-backend=mlu"], "backend 'mlu' cannot be used: the package torch_mlu is not installed"),
        (
            ["--morph", "--morph-devices=99"],
            "--morph-devices: the number of devices must be from 1 to 64",
        ),
        (
            ["--morph-device-memory=1"],
            "--morph-device-memory: a device needs at least 32MiB",
        ),
        (
            ["--morph-devices=0", "-n2"],
            "--morph-devices: the number of devices must be from 1 to 64",
        ),
    ],
)
def test_an_option_that_cannot_be_meant_is_one_line(project: Project, options: list[str], said: str) -> None:
    done = project.pytest(*options)
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    (line,) = filter(None, done.stderr.splitlines())
    assert line.startswith(f"ERROR: {said}")
    assert done.stdout == ""


def test_the_marker_takes_one_number(project: Project) -> None:
    text = "import pytest\n@pytest.mark.cuda_devices('2')\ndef test_two_devices(): pass"
    project.write(conftest="", test_cuda=text)
    done = project.pytest()
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    assert (
        "test_cuda.py::test_two_devices: cuda_devices takes one number, as in cuda_devices(2)" in done.stderr
    )


def test_the_marker_and_the_options_are_documented(project: Project) -> None:
    project.write(conftest="")
    assert "@pytest.mark.cuda_devices(count): skip the test" in project.pytest("--markers").stdout
    shown = project.pytest("--morph-backend=mlu", "--help").stdout
    for name in ("--morph ", "--morph-backend=NAME", "--morph-devices=N", "--morph-device-memory=AMOUNT"):
        assert name in shown


@pytest.mark.long
def test_switched_off_and_named(project: Project) -> None:
    project.write(test_cuda="def test_nothing(): pass")
    assert "1 passed" in project.pytest("-p", "no:morph").stdout
    assert "unrecognized arguments: --morph" in project.pytest("-p", "no:morph", "--morph").stderr
    alone = {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
    assert_ran(project.pytest("-p", "morph", *CPU, variables=alone), "1 passed", "the CPU, 1 device")


@pytest.mark.long
def test_below_the_launcher(project: Project) -> None:
    project.write(conftest="")
    launched = "-m", "morph", "--backend", "cpu"
    assert_ran(project.python(*launched, "--devices", "2", "-m", "pytest"), "2 passed")
    assert_ran(project.python(*launched, "-m", "pytest", "--morph-devices=2", "-n2"), "2 passed")
    done = project.python(*launched, "--devices", "2", "-m", "pytest", "--morph-devices=3")
    assert done.returncode == pytest.ExitCode.USAGE_ERROR
    (line,) = filter(None, done.stderr.splitlines())
    assert line == (
        "ERROR: --morph-devices 3 comes too late: cuda is cpu (the CPU, 2 devices); "
        "say python -m morph --devices 3 -m pytest"
    )


def test_in_an_enabled_environment(project: Project) -> None:
    project.environment.run("-m", "morph", "enable", "--backend", "cpu")
    assert_ran(project.pytest("--morph-devices=2"), "2 passed")
    assert_ran(project.pytest(), "1 passed, 1 skipped", "the CPU, 1 device")
    project.write(conftest="", test_cuda="def test_nothing(): pass")
    done = project.pytest()
    assert "1 passed" in done.stdout
    assert "morph:" not in done.stdout + done.stderr


def test_everything_is_undone_at_the_end(project: Project) -> None:
    done = project.python(
        "-c",
        """
import os, sys, pytest
def state():
    variables = {name: os.environ[name] for name in os.environ if not name.startswith("PYTEST_")}
    return variables, list(sys.meta_path), list(sys.path_hooks)
before = state()
assert pytest.main(["--morph-backend=mlu"]) == 4
assert state() == before
import torch
assert pytest.main(["--morph-backend=cpu", "--morph-devices=2"]) == 0
assert state() == before
assert not torch.cuda.is_available()
""",
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert "2 passed" in done.stdout


def test_packages_that_are_configured_see_cuda_with_the_tests(project: Project) -> None:
    """The device is CUDA for everybody on the CPU, so that what they are told is looked up."""
    (project.folder / "morph.toml").write_text('backend = "cpu"\npackages = ["trainer"]\n')
    project.write(
        test_cuda="""
from morph.activation import status
from morph.activation.configuration import effective

def test_scope():
    scope = effective().scope
    assert status().backend == "cpu"
    assert all(scope.policy(name).cuda for name in ("trainer", "test_cuda", "conftest", "__main__"))
    assert not scope.policy("transformers").cuda
"""
    )
    assert_ran(project.pytest("--morph", "-n1"), "1 passed", "the CPU, 1 device")


@pytest.mark.long
def test_on_ascend(project: Project, cann: dict[str, str]) -> None:
    project.write(test_cuda=TESTS + CHILDREN)
    done = project.pytest("--morph", variables={**cann, "TORCH_DEVICE_BACKEND_AUTOLOAD": "1"})
    assert_ran(done, "4 passed", "Huawei Ascend, 2 devices")
