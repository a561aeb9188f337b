"""The devices that the tests run on, each a set of environment variables and options of `python -m morph`."""

import dataclasses
import functools
import importlib
import os
import pathlib
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence

REPOSITORY = pathlib.Path(__file__).parent.parent
NAMES = ("cpu", "npu", "simulated-npu")
# few tests other than the device tests run on these, and only as long tests
OTHERS = ("simulated-mlu", "simulated-musa", "simulated-xpu")
EVERYWHERE = (*NAMES, *OTHERS)
CHOICE = "MORPH_TEST_PLATFORMS"
TPU = "tpu"  # the real torch_tpu over XLA for the CPU; few tests run there
CUDA = "cuda"  # an NVIDIA GPU without morph, to judge the tests; only where it is chosen
SIMULATED = tuple(name for name in EVERYWHERE if name.startswith("simulated-"))
ACCELERATORS = tuple(name for name in EVERYWHERE if name != "cpu")
_BUILDERS = ("morph.base.native", "morph.activation.building", "morph.backends.tables.table")


@dataclasses.dataclass(frozen=True)
class Platform:
    """One device, and how a Python process is started on it.

    Attributes:
        name: "cpu", "npu" (the real torch_npu over the soft CANN), "simulated-npu" and so on, "tpu", "cuda".
        environment: All the environment variables of a process on it.
        python: The interpreter that has the vendor's package.
    """

    name: str
    environment: Mapping[str, str]
    python: str = sys.executable

    @property
    def is_simulated(self) -> bool:
        """Whether its device is the simulated one."""
        return self.name.startswith("simulated-")

    @property
    def backend(self) -> str:
        """The name of the backend that serves CUDA on it."""
        return self.name.removeprefix("simulated-")

    @property
    def device_type(self) -> str:
        """The value of `torch.device("cuda").type` on it under morph."""
        return CUDA if self.backend == "cpu" else self.backend

    @property
    def options(self) -> tuple[str, str]:
        """The options of `python -m morph` that select it."""
        return "--rehearse" if self.is_simulated else "--backend", self.backend

    def command(self, *, morph: bool) -> list[str]:
        """Returns the command prefix that runs a program on this platform, with the native parts built.

        Args:
            morph: Whether under `python -m morph`; else under plain Python, also with the simulated device.
                Without effect on a real GPU, where morph does nothing.
        """
        if self.name == CUDA:
            return [self.python]
        if morph or self.is_simulated:
            build_native_parts()
        if morph:
            return [self.python, "-m", "morph", *self.options]
        if self.name == TPU:
            return [self.python, "-m", "tests.tpu.started"]
        started = ["-m", "tests.software.started", self.backend] if self.is_simulated else []
        return [self.python, *started]

    def run(
        self,
        program: str | pathlib.Path,
        *arguments: object,
        morph: bool = True,
        check: bool = True,
        timeout: float = 300,
        environment: Mapping[str, str] | None = None,
        cwd: pathlib.Path | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """Runs a program in a process of its own.

        Args:
            program: A script's path, or source text as for `python -c`.
            *arguments: The program's arguments.
            morph: Whether under `python -m morph`.
            check: Whether an exit status other than zero fails the test.
            timeout: Seconds after which the process is killed and `subprocess.TimeoutExpired` raised.
            environment: Variables to set in addition to the platform's.
            cwd: The process's working directory.

        Returns:
            The finished process, with its output as text.
        """
        what = [str(program)] if isinstance(program, pathlib.Path) else ["-c", program]
        command = [*self.command(morph=morph), *what, *map(str, arguments)]
        variables = {**self.environment, **(environment or {})}
        done = complete(command, env=variables, cwd=cwd, timeout=timeout)
        if check:
            assert done.returncode == 0, f"{describe(done)}"
        return done


def complete(
    command: Sequence[str | pathlib.Path],
    *,
    env: Mapping[str, str] | None = None,
    cwd: pathlib.Path | None = None,
    timeout: float = 300,
) -> subprocess.CompletedProcess[str]:
    """Runs a command to completion and captures its output as text."""
    return subprocess.run(
        command, env=env, cwd=cwd, timeout=timeout, capture_output=True, text=True, check=False
    )


def platform(name: str, variables: Mapping[str, str]) -> Platform:
    """Returns a platform by name.

    Args:
        name: One of `NAMES`.
        variables: Variables that its processes need in addition to this process's.
    """
    path = os.pathsep.join(filter(None, [str(REPOSITORY), os.environ.get("PYTHONPATH")]))
    # The cache of native parts must not depend on HOME, which tests change.
    cache = os.environ.get("XDG_CACHE_HOME") or str(pathlib.Path("~/.cache").expanduser())
    # One test process runs per core, and torch's idle threads spin.
    own = {"PYTHONPATH": path, "XDG_CACHE_HOME": cache, "OMP_NUM_THREADS": "1"}
    environment = {**os.environ, **own, **variables}
    environment.pop("PYTEST_CURRENT_TEST", None)  # which would make each test's platform another
    if name == "npu":
        environment.pop("TORCH_DEVICE_BACKEND_AUTOLOAD", None)
    if name == "cpu":
        environment["MORPH_DEVICES"] = "2"  # like the other platforms
    return Platform(name, environment)


def chosen(names: Iterable[str]) -> list[str]:
    """Returns the platforms among `names` that `MORPH_TEST_PLATFORMS`, a comma-separated list, selects."""
    wanted, names = os.environ.get(CHOICE, "").split(","), list(names)
    if CUDA in wanted and "cpu" in names:  # the software device is to do what a GPU does
        names.append(CUDA)
    return [name for name in names if name in wanted or wanted == [""]]


def build_native_parts() -> None:
    """Builds morph's native parts unless they are cached, before a process with a time limit has to.

    Raises:
        RuntimeError: If they cannot be built; they are tried once.
    """
    problem = _problem_of_building()
    if problem:
        raise RuntimeError(f"the native parts cannot be built: {problem}")


@functools.cache
def _problem_of_building() -> str | None:
    native, building, table = map(importlib.import_module, _BUILDERS)
    software = chosen(EVERYWHERE) != ["npu"]
    try:
        native.build(building.libraries(table.facts("cpu" if software else "npu")))
    except native.BuildError as error:
        return str(error)
    return None


def describe(process: subprocess.CompletedProcess[str]) -> str:
    """Describes a finished process for the report of a failed test."""
    command = " ".join(map(str, process.args))
    return f"{command}\nexit status {process.returncode}\n{process.stdout}\n--- stderr\n{process.stderr}"
