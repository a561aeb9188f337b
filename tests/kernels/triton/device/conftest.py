"""Every test in this folder runs under morph on the CPU."""

from __future__ import annotations

import pytest

from tests.worker import Worker


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Restricts the tests to the CPU."""
    metafunc.definition.add_marker(pytest.mark.platforms("cpu"))


@pytest.fixture(autouse=True)
def everywhere(worker: Worker) -> None:
    """Adds the worker to the fixtures of every test, which makes the test run in it."""
