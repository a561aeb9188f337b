"""The name that ``cuda.bindings.runtime`` had before cuda-python 12.6."""

from .bindings import runtime as _module

globals().update({name: value for name, value in vars(_module).items() if not name.startswith("_")})
