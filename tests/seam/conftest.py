"""Tests of the seam run in a process with the vendor's own package, and nothing of morph but the seam."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.platforms import Platform
from tests.seam import engaging
from tests.worker import Worker


@pytest.fixture
def engaged(vendor_worker: Worker, platform: Platform) -> Iterator[None]:
    """The native seam, engaged in the worker for the duration of a test."""
    vendor_worker.call(engaging.engage, {"device_type": platform.device_type})
    yield
    vendor_worker.call(engaging.disengage, {})


@pytest.fixture
def device_type(platform: Platform) -> str:
    """The value of `torch.device("cuda").type` under the seam."""
    return platform.device_type
