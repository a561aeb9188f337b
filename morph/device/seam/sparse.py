"""Products of a sparse and a dense matrix, by index, on a device whose vendor has no kernel for them."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import torch

Number = int | float | complex


def multiply_by_index(device_type: str) -> Callable[[], None]:
    """Have the device multiply sparse matrices by dense ones.

    Args:
        device_type: The device as torch names it, "npu"; it has to be torch's private device.

    Returns:
        What takes the kernels back.
    """
    key = f"Sparse{torch._C._dispatch_key_for_device(device_type)}"
    library = torch.library.Library("aten", "IMPL")  # type: ignore[no-untyped-call]
    kernels = {"addmm": _addmm, "mm": _mm, "matmul_backward": _matmul_backward}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch_tpu has kernels of these, which only refuse
        for name, kernel in kernels.items():
            library.impl(name, kernel, key)  # type: ignore[no-untyped-call]
    return library._destroy


def _addmm(
    added: torch.Tensor, sparse: torch.Tensor, dense: torch.Tensor, *, beta: Number = 1, alpha: Number = 1
) -> torch.Tensor:
    if (added.layout, sparse.layout, dense.layout) != (torch.strided, torch.sparse_coo, torch.strided):
        layouts = f"addmm of {added.layout}, {sparse.layout} and {dense.layout}"
        raise NotImplementedError(f"{layouts} does not exist on {sparse.device.type!r}")
    product = alpha * _product(sparse, dense)
    return product if beta == 0 else product + beta * added


def _mm(first: torch.Tensor, second: torch.Tensor) -> torch.Tensor:
    if (first.layout, second.layout) != (torch.sparse_coo, torch.strided):
        raise NotImplementedError(
            f"mm of {first.layout} and {second.layout} does not exist on {first.device.type!r}"
        )
    return _product(first, second)


def _matmul_backward(
    gradient: torch.Tensor, first: torch.Tensor, second: torch.Tensor, wanted: list[bool]
) -> tuple[torch.Tensor | None, torch.Tensor | None]:
    if wanted[0] or (gradient.layout, first.layout) != (torch.strided, torch.sparse_coo):
        raise NotImplementedError(f"the gradient of a sparse matrix does not exist on {first.device.type!r}")
    return None, first.t().conj() @ gradient if wanted[1] else None


def _product(sparse: torch.Tensor, dense: torch.Tensor) -> torch.Tensor:
    if sparse.shape[1] != dense.shape[0]:
        shapes = f"{sparse.shape[0]}x{sparse.shape[1]} and {dense.shape[0]}x{dense.shape[1]}"
        raise RuntimeError(f"mat1 and mat2 shapes cannot be multiplied ({shapes})")
    rows, columns = sparse._indices()
    parts = sparse._values().unsqueeze(1) * dense.index_select(0, columns)
    return dense.new_zeros(sparse.shape[0], dense.shape[1]).index_add(0, rows, parts)
