"""Fixtures of the adapters' tests: an active backend without a device, and torch's TF32 flags."""

from collections.abc import Iterator
from types import SimpleNamespace

import pytest
import torch

from morph import backends
from morph.backends.tables import table


@pytest.fixture
def vendor(request: pytest.FixtureRequest) -> Iterator[SimpleNamespace]:
    """The vendor's module of an active backend, initially empty; the backend is the test's parameter."""
    backend = backends.Backend(table.load(request.param))
    module = SimpleNamespace()
    vars(backend)["namespace"] = module
    backends.set_active(backend)
    yield module
    backends.set_active(None)


@pytest.fixture
def flags() -> Iterator[None]:
    """Restores torch's TF32 flags after the test."""
    yield
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.conv.fp32_precision = "tf32"
