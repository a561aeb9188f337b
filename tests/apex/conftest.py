"""The fixtures of `tests/flash_attn`: every test in this folder runs on the same platforms."""

from tests.flash_attn.conftest import everywhere, pytest_generate_tests  # noqa: F401
