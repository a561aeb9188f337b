"""Tests of kernels are of the CPU's software device, and of a real GPU, unless they name other platforms."""

from __future__ import annotations

import pytest

from tests.platforms import CUDA


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Restricts tests that name no platforms to these two."""
    if metafunc.definition.get_closest_marker("platforms") is None:
        metafunc.definition.add_marker(pytest.mark.platforms("cpu", CUDA))
