"""Every test in this folder runs on the real torch_npu over the soft CANN, without morph."""

import pytest

from tests.worker import Worker


@pytest.fixture(autouse=True)
def on_the_vendor(vendor_worker: Worker) -> None:
    """Adds the worker to the fixtures of every test, which makes the test run in it."""
