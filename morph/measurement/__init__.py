"""What calls in CUDA's spelling cost beside the device's own spelling."""

from morph.measurement.calls import Figure, figures
from morph.measurement.timing import Comparison, compare

__all__ = ["Comparison", "Figure", "compare", "figures"]
