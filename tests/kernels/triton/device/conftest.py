"""The fixtures of the extensions' tests: every test in this folder runs under morph on the CPU."""

from tests.kernels.extensions.device.conftest import everywhere, pytest_generate_tests  # noqa: F401
