"""The overhead of CUDA calls over the device's own."""

from morph.verification.measurement.calls import Figure, figures
from morph.verification.measurement.timing import Comparison, compare

__all__ = ["Comparison", "Figure", "compare", "figures"]
