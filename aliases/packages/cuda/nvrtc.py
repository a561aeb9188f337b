"""The name that ``cuda.bindings.nvrtc`` had before cuda-python 12.6."""

from .bindings import nvrtc as _module

globals().update({name: value for name, value in vars(_module).items() if not name.startswith("_")})
