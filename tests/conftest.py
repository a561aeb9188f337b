"""Platforms, workers and installations for the whole suite; `tests/README.md` says how tests use them."""

import dataclasses
import importlib.util
import inspect
import os
import pathlib
import signal
from collections.abc import Iterable, Iterator
from typing import Any

import filelock
import pytest

from tests import installation, origin, platforms
from tests.ascend import build as soft_cann
from tests.platforms import Platform
from tests.tpu import bed, shared
from tests.worker import Worker, Workers

# Only the processes that tests start may load the vendor's package, never pytest's own.
os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"

CANNOT_BUILD = pytest.StashKey[str]()
WORKERS = pytest.StashKey[Workers]()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--record-evidence",
        action="store_true",
        help="write aliases/evidence.json from what the tests of tests/evidence show",
    )


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", "platforms(*names): run on these platforms only")
    config.addinivalue_line("markers", "needs(*modules): skipped without them; the extra test has them")
    config.addinivalue_line("markers", "long_on(*names): long on these platforms")
    config.addinivalue_line("markers", "long: run with -m long only, so that the others take few minutes")
    # a background process of a shell ignores the signal, and processes that tests start would inherit that
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "platform" in metafunc.fixturenames:
        marker = metafunc.definition.get_closest_marker("platforms")
        default = platforms.EVERYWHERE if "everywhere" in metafunc.fixturenames else platforms.NAMES
        names = platforms.chosen(_with_tpu(metafunc, marker.args if marker else default))
        metafunc.parametrize("platform", _marked(metafunc, names), indirect=True, scope="session")


def _with_tpu(metafunc: pytest.Metafunc, names: Iterable[str]) -> list[str]:
    """Adds the second real package to the seam's and the device tests that are not about the first alone."""
    names = list(names)
    is_shared = metafunc.definition.path.parent.name in shared.FOLDERS
    is_of_another = "npu" in names and not {*names} <= {"npu", "simulated-npu"}
    return [*names, platforms.TPU] if is_shared and is_of_another else names


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks the tests that do not hold on torch_tpu with the reason."""
    for item in items:
        if isinstance(item, pytest.Function) and hasattr(item, "callspec"):
            if item.callspec.params.get("platform") == platforms.TPU:
                for mark in shared.marks(item):
                    item.add_marker(mark)


def _marked(metafunc: pytest.Metafunc, names: Iterable[str]) -> list[Any]:
    marker = metafunc.definition.get_closest_marker("long_on")
    default = platforms.OTHERS if "everywhere" in metafunc.fixturenames else ()
    long = {*default, *(marker.args if marker else ()), platforms.TPU}
    return [pytest.param(name, marks=pytest.mark.long) if name in long else name for name in names]


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    for marker in item.iter_markers("needs"):
        absent = [name for name in marker.args if importlib.util.find_spec(name) is None]
        if absent:
            pytest.skip(f"{' and '.join(absent)} not installed (extra test)")
    if WORKERS in item.config.stash:
        item.config.stash[WORKERS].enter(item.path.parent)


@pytest.hookimpl(tryfirst=True)
def pytest_pyfunc_call(pyfuncitem: pytest.Function) -> bool | None:
    """Runs a test in the worker when a fixture of its folder requests one (`worker` or `vendor_worker`)."""
    own = inspect.signature(pyfuncitem.function).parameters
    wanted = [name for name in ("worker", "vendor_worker") if name in pyfuncitem.funcargs]
    if not wanted or any(name in own for name in wanted):
        return None
    worker = pyfuncitem.funcargs[wanted[0]]
    assert isinstance(worker, Worker)
    worker.call(pyfuncitem.function, {name: pyfuncitem.funcargs[name] for name in own})
    return True


def pytest_sessionfinish(session: pytest.Session) -> None:
    """Reports to xdist's controller that this worker could not build the soft CANN."""
    origin.end_all()
    output = getattr(session.config, "workeroutput", None)
    if output is not None and CANNOT_BUILD in session.config.stash:
        output["cannot_build"] = session.config.stash[CANNOT_BUILD]


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    """Stores what an xdist worker has reported."""
    if "cannot_build" in getattr(node, "workeroutput", {}):
        node.config.stash[CANNOT_BUILD] = node.workeroutput["cannot_build"]


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter, config: pytest.Config) -> None:
    reason = config.stash.get(CANNOT_BUILD, None)
    if reason is not None:
        terminalreporter.section("NOT TESTED ON ASCEND", sep="!", red=True, bold=True)
        terminalreporter.line(f"ERROR: the soft CANN for torch_npu could not be built: {reason}", red=True)


@pytest.fixture(scope="session")
def native_parts() -> None:
    """Morph's native parts, for tests that start a device of its without `platform`."""
    platforms.build_native_parts()


@pytest.fixture(scope="session")
def cann(request: pytest.FixtureRequest) -> dict[str, str]:
    """The environment variables with which the real torch_npu runs on a CPU."""
    config = request.config
    if CANNOT_BUILD not in config.stash:
        try:
            return soft_cann.environment(soft_cann.build(_announcer(config)))
        except soft_cann.CannotBuildError as error:
            config.stash[CANNOT_BUILD] = str(error)
    message = f"the soft CANN could not be built: {config.stash[CANNOT_BUILD]}"
    if os.environ.get("CI"):
        pytest.fail(message, pytrace=False)
    pytest.skip(message)


@pytest.fixture(scope="session")
def platform(request: pytest.FixtureRequest) -> Platform:
    """Each platform in turn; `@pytest.mark.platforms("npu")` restricts the choice."""
    if request.param == platforms.TPU:
        tpu: Platform = request.getfixturevalue("tpu")
        return tpu
    variables = request.getfixturevalue("cann") if request.param == "npu" else {}
    if request.param != platforms.CUDA:
        platforms.build_native_parts()
    return platforms.platform(request.param, variables)


@pytest.fixture(scope="session")
def tpu(request: pytest.FixtureRequest) -> Platform:
    """The real torch_tpu over XLA's compiler for the CPU."""
    try:
        made = bed.environment(_announcer(request.config))
    except bed.CannotInstallError as error:
        if os.environ.get("CI"):
            pytest.fail(str(error), pytrace=False)
        pytest.skip(str(error))
    platforms.build_native_parts()
    own = platforms.platform(platforms.TPU, bed.variables(made))
    return dataclasses.replace(own, python=str(made.python))


@pytest.fixture(scope="session")
def worker_pool(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Workers]:
    """The processes in which tests run; within a folder they survive a change of platform."""
    pool = request.config.stash[WORKERS] = Workers(lambda: tmp_path_factory.mktemp("worker"))
    yield pool
    pool.stop()


@pytest.fixture(scope="session")
def worker(platform: Platform, worker_pool: Workers) -> Worker:
    """A process on the platform under morph, in which tests run."""
    return worker_pool.on(platform, morph=True)


@pytest.fixture(scope="session")
def vendor_worker(platform: Platform, worker_pool: Workers) -> Worker:
    """A process on the platform without morph, in which tests run."""
    return worker_pool.on(platform, morph=False)


@pytest.fixture(scope="session")
def built_wheel(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The project's wheel, which one of xdist's workers builds for all."""
    shared = tmp_path_factory.getbasetemp()
    if hasattr(request.config, "workerinput"):
        shared = shared.parent
    folder = shared / "wheel"
    with filelock.FileLock(shared / "wheel.lock"):
        if not folder.exists():
            installation.build("wheel", installation.copy_sources(shared / "sources"), folder)
    return next(folder.glob("*.whl"))


@pytest.fixture
def fresh_environment(
    built_wheel: pathlib.Path, native_parts: None, tmp_path: pathlib.Path
) -> installation.FreshEnvironment:
    """A fresh virtual environment with the project's wheel installed."""
    fresh = installation.create(tmp_path / "environment")
    fresh.install(built_wheel)
    return fresh


def _announcer(config: pytest.Config) -> soft_cann.Progress:
    reporter = config.pluginmanager.getplugin("terminalreporter")
    return reporter.write_line if reporter else print
