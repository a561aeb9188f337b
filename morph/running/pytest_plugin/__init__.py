# pytest loads this module wherever morph is installed: import nothing costly outside functions
"""pytest's plug-in: ``pytest --morph`` runs tests written for CUDA on the accelerator that is there.

PYTEST_DONT_REWRITE
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import pytest

MARKER = "cuda_devices"


def pytest_addoption(parser: pytest.Parser) -> None:
    """Declare the options and the setting of the ini file."""
    group = parser.getgroup("morph", "CUDA on any accelerator, or on a software device (morph)")
    group.addoption(
        "--morph", action="store_true", help="run the tests under morph, as each of the next five does"
    )
    group.addoption("--morph-backend", metavar="NAME", help="run them on this backend, such as cpu")
    group.addoption("--morph-devices", metavar="N", help="the number of software devices, in each process")
    group.addoption("--morph-device-memory", metavar="AMOUNT", help="the memory of each, such as 8GiB")
    group.addoption("--morph-device-profile", metavar="CARD", help="the card they stand for, such as h100")
    checks = "look for races and illegal accesses of kernels, or for what is given: memory,race,leak"
    group.addoption("--morph-sanitize", nargs="?", const="memory,race", metavar="CHECKS", help=checks)
    parser.addini("morph", "run the tests under morph, as --morph does", type="bool", default=False)


@pytest.hookimpl(hookwrapper=True, tryfirst=True)
def pytest_load_initial_conftests(early_config: pytest.Config) -> Iterator[None]:
    """Start morph before a conftest imports torch, and before pytest captures what morph says."""
    options = early_config.known_args_namespace
    if not (options.help or options.version):
        _start(early_config)
    yield


def pytest_configure(config: pytest.Config) -> None:
    """Declare the marker."""
    line = f"{MARKER}(count): skip the test where there are fewer CUDA devices"
    config.addinivalue_line("markers", line)


def pytest_report_header() -> str | None:
    """Say what CUDA is, however morph came into this process."""
    activation = sys.modules.get("morph.activation")
    summary = activation.summary() if activation else None
    return f"morph: {summary}" if summary else None


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Skip the tests that ask for more devices than there are."""
    marked = [(item, marker) for item in items if (marker := item.get_closest_marker(MARKER))]
    if not marked:
        return
    import torch

    there = torch.cuda.device_count()
    for item, marker in marked:
        needed = _count(item, marker)
        if needed > there:
            reason = f"CUDA devices: {needed} needed, {there} found"
            item.add_marker(pytest.mark.skip(reason=reason))


def _count(item: pytest.Item, marker: pytest.Mark) -> int:
    values = [*marker.args, *marker.kwargs.values()]
    if len(values) != 1 or {*marker.kwargs} - {"count"} or type(values[0]) is not int:
        raise pytest.UsageError(f"{item.nodeid}: {MARKER} takes one number, as in {MARKER}(2)")
    return values[0]


def _start(config: pytest.Config) -> None:
    given = config.known_args_namespace
    sizes = given.morph_devices, given.morph_device_memory, given.morph_device_profile
    values = given.morph_backend, *sizes, given.morph_sanitize
    is_asked = given.morph or config.getini("morph") or any(value is not None for value in values)
    if not is_asked and not _is_launched():
        return
    from morph.base.importing import own_imports

    with own_imports:
        from morph.running.pytest_plugin import starting

    starting.start(config, *values)


def _is_launched() -> bool:
    """Return whether this process is a program of ``python -m morph``."""
    activation = sys.modules.get("morph.activation")
    return activation is not None and activation.is_armed()
