"""Intel GPUs: what morph reads of a torch that is built for them is set by hand here."""

from __future__ import annotations

import pytest

from tests.platforms import Platform

STAND_IN = """
import sys, torch
torch.version.xpu = "20250302"
torch.xpu.device_count = lambda: 2
sys.modules["torch_npu"] = None  # as where no vendor's package is installed
import morph
from morph.backends.tables import surfaces
from morph.backends.tables import table
from morph.backends.tables.table import Status
from morph.base.errors import MissingNameError

OWNERS = torch.xpu.Stream, torch.xpu.Event, torch.xpu.XPUGraph, torch.xpu.MemPool, torch.amp.GradScaler
before = [dict(vars(owner)) for owner in OWNERS]

def answer(name):
    parent, _, last = name.rpartition(".")
    try:
        return getattr(sys.modules[parent], last)
    except MissingNameError:
        return Status.MISSING

status = morph.activate()
assert (status.backend, status.device_type) == ("xpu", "xpu")
rows = table.load("xpu")
cuda = surfaces.load("torch_cuda-2.13.0")
for module in cuda.modules:
    __import__(module)
for name in cuda.names - cuda.modules:
    row = rows.row(name)
    refused = row is not None and row.status is Status.MISSING
    assert (answer(name) is Status.MISSING) == refused, name
assert torch.cuda.device_count() == 2
assert torch.cuda.CUDAGraph is torch.xpu.XPUGraph
assert torch.cuda.Stream.cuda_stream is not None
assert torch.cuda.ExternalStream.__mro__[1] is torch.xpu.Stream
changed = [owner for owner, own in zip(OWNERS, before) if dict(vars(owner)) != own]
assert changed == list(OWNERS), changed
morph.deactivate()
assert [dict(vars(owner)) for owner in OWNERS] == before
"""


@pytest.mark.platforms("cpu")
def test_every_name_answers_on_a_stand_in_for_a_torch_with_intel_gpus(platform: Platform) -> None:
    environment = {"MORPH_SEAM": "python", "PYTHONWARNINGS": "ignore::UserWarning"}
    done = platform.run(STAND_IN, morph=False, environment=environment)
    assert "morph: cuda is xpu (Intel GPU, 2 devices, without the native seam)" in done.stderr
