"""The overhead of CUDA calls over the device's own."""

from morph.measurement.calls import Figure, figures
from morph.measurement.timing import Comparison, compare

__all__ = ["Comparison", "Figure", "compare", "figures"]
