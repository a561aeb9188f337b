"""The name that ``cuda.bindings.driver`` had before cuda-python 12.6."""

from .bindings import driver as _module

globals().update({name: value for name, value in vars(_module).items() if not name.startswith("_")})
