"""The functions of apex's extension ``apex_C``."""

from apex.parallel.distributed import flatten, unflatten

__all__ = ["flatten", "unflatten"]
