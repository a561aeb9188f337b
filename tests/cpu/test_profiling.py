"""Profiling ranges, the CUDA runtime and sensors."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.platforms("cpu")
