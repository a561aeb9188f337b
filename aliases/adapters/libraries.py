"""The choice of a linear algebra library: a hint on CUDA, without effect where there is one library."""

from __future__ import annotations

from typing import Any

import torch

_backends: Any = torch._C
_LINEAR_ALGEBRA = ("default", "cusolver", "magma")
_BLAS = ("default", "cublas", "cublaslt", "hipblas", "hipblaslt", "ck")


def preferred_linalg_library(backend: Any = None) -> Any:
    """Accept CUDA's hint for linear algebra.

    Args:
        backend: None, one of CUDA's names, or a ``torch._C._LinalgBackend``.

    Returns:
        ``torch._C._LinalgBackend.Default``: the vendor's one library is used.

    Raises:
        RuntimeError: If there is no library of that name on CUDA either.
    """
    _check(backend, _LINEAR_ALGEBRA, _backends._LinalgBackend)
    return _backends._LinalgBackend.Default


def preferred_blas_library(backend: Any = None) -> Any:
    """Accept CUDA's hint for matrix products.

    Args:
        backend: None, one of CUDA's names, or a ``torch._C._BlasBackend``.

    Returns:
        ``torch._C._BlasBackend.Default``: the vendor's one library is used.

    Raises:
        RuntimeError: If there is no library of that name on CUDA either.
    """
    _check(backend, _BLAS, _backends._BlasBackend)
    return _backends._BlasBackend.Default


def _check(backend: Any, names: tuple[str, ...], kind: type) -> None:
    if isinstance(backend, str) and backend not in names:
        raise RuntimeError(f"Unknown input value. Choose from: {', '.join(names)}.")
    if not isinstance(backend, str | kind | None):
        raise RuntimeError("Unknown input value type.")
