"""Fixtures that run every test in this folder under morph: on the CPU, torch_npu and a simulated xpu."""

import pytest

from tests.platforms import Platform
from tests.worker import Worker

PLATFORMS = ("cpu", "npu", "simulated-xpu")


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Restricts tests that name no platforms to the platforms of this folder."""
    if metafunc.definition.get_closest_marker("platforms") is None:
        metafunc.definition.add_marker(pytest.mark.platforms(*PLATFORMS))


@pytest.fixture
def platform_name(platform: Platform) -> str:
    """The name of the platform that the test runs on."""
    return platform.name


@pytest.fixture(autouse=True)
def everywhere(worker: Worker) -> None:
    """Adds the worker to the fixtures of every test, which makes the test run in it."""
