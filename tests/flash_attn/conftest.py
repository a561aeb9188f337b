"""Every test in this folder runs inside a process under morph: on the CPU, on torch_npu, and simulated."""

from __future__ import annotations

import pytest

from tests.platforms import Platform
from tests.worker import Worker

PLATFORMS = ("cpu", "npu", "simulated-xpu")


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Keeps tests that name no platforms to those of this folder."""
    if metafunc.definition.get_closest_marker("platforms") is None:
        metafunc.definition.add_marker(pytest.mark.platforms(*PLATFORMS))


@pytest.fixture
def platform_name(platform: Platform) -> str:
    """The name of the platform, for a test that runs on it."""
    return platform.name


@pytest.fixture(autouse=True)
def everywhere(worker: Worker) -> None:
    """Puts the worker among the fixtures of every test, which makes it run there."""
