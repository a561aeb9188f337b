"""The functions of apex's extension ``apex_C``."""

from apex.kernels.flattening import flatten, unflatten

__all__ = ["flatten", "unflatten"]
