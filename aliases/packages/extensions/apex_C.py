"""What apex's extension ``apex_C`` offers."""

from apex.kernels.flattening import flatten, unflatten

__all__ = ["flatten", "unflatten"]
