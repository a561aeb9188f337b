"""Bindings of CUDA's runtime and driver, over the libraries that morph serves."""

import torch  # noqa: F401  (after which a backend is chosen)

__version__ = "13.0.3"
