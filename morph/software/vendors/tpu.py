"""Google's behaviour that the surface of torch_tpu does not record."""

from __future__ import annotations

from morph.software import streams
from morph.software.vendors.quirks import Quirks

QUIRKS = Quirks(title="TPU", names={"TpuStream": streams.Stream, "TpuEvent": streams.Event})
