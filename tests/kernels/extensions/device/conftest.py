"""The fixture of `tests/device`: every test in this folder runs in a process under morph."""

from tests.device.conftest import everywhere  # noqa: F401
