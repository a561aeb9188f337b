"""Tests of kernels are of the CPU's software device, unless they name other platforms."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Restricts tests that name no platforms to the CPU."""
    if metafunc.definition.get_closest_marker("platforms") is None:
        metafunc.definition.add_marker(pytest.mark.platforms("cpu"))
