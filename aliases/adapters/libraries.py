"""The choice of a linear algebra library: a hint on CUDA, without effect where there is one library."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch

_backends: Any = torch._C


def _preferred(kind: Any, *names: str) -> Callable[..., Any]:
    def preferred(backend: Any = None) -> Any:
        """Accept CUDA's hint.

        Args:
            backend: None, one of CUDA's names, or a member of torch's enumeration of them.

        Returns:
            The enumeration's ``Default``: the vendor's one library is used.

        Raises:
            RuntimeError: If there is no library of that name on CUDA either.
        """
        if isinstance(backend, str) and backend not in names:
            raise RuntimeError(f"Unknown input value. Choose from: {', '.join(names)}.")
        if not isinstance(backend, str | kind | None):
            raise RuntimeError("Unknown input value type.")
        return kind.Default

    return preferred


preferred_linalg_library = _preferred(_backends._LinalgBackend, "default", "cusolver", "magma")
preferred_blas_library = _preferred(
    _backends._BlasBackend, "default", "cublas", "cublaslt", "hipblas", "hipblaslt", "ck"
)
