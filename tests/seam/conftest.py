"""Tests of the seam run in a process with the vendor's own package, and nothing of morph but the seam."""

from collections.abc import Iterator

import pytest

from tests.platforms import Platform
from tests.seam import engaging
from tests.worker import Worker


@pytest.fixture
def engaged(vendor_worker: Worker, platform: Platform, request: pytest.FixtureRequest) -> Iterator[None]:
    """A seam, engaged in the worker for the duration of a test: the native one, or one that a test names."""
    kind = getattr(request, "param", "native")
    vendor_worker.call(engaging.engage, {"kind": kind, "device_type": platform.device_type})
    yield
    vendor_worker.call(engaging.disengage, {"kind": kind})


@pytest.fixture
def device_type(platform: Platform) -> str:
    """The value of `torch.device("cuda").type` under the seam."""
    return platform.device_type
