"""Calls whose arguments no kernel or library of CUDA takes together."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor


def ones(*sizes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.ones(sizes, dtype=dtype, device="cuda")


def half(*sizes: int) -> Tensor:
    return ones(*sizes, dtype=torch.half)


MIXED: dict[str, tuple[Callable[[], object], str]] = {
    "a layer": (lambda: F.layer_norm(half(2, 4), (4,), ones(4)), "Half but found Float"),
    "a layer's halves": (lambda: F.layer_norm(ones(2, 4), (4,), half(4)), "Float but found Half"),
    "a bias": (lambda: F.group_norm(half(2, 4), 2, half(4), ones(4)), "Half but found Float"),
    "a grid": (
        lambda: F.grid_sample(half(1, 1, 2, 2), ones(1, 1, 1, 2), align_corners=False),
        "Half but found",
    ),
    "a grid's halves": (
        lambda: F.grid_sample(ones(1, 1, 2, 2), half(1, 1, 1, 2), align_corners=False),
        "Float but found Half",
    ),
    "weights of classes": (
        lambda: F.multi_margin_loss(
            half(2, 2), torch.zeros(2, device="cuda", dtype=torch.long), weight=ones(2)
        ),
        "Half but found Float",
    ),
}


@pytest.mark.parametrize("which", MIXED)
def test_several_types_are_refused_where_a_kernel_reads_one(which: str) -> None:
    call, words = MIXED[which]
    with pytest.raises(RuntimeError, match=f"expected scalar type {words}"):
        call()


def test_products_of_bytes_have_sizes_that_the_library_takes() -> None:
    def product(rows: int, inner: int, columns: int) -> Tensor:
        return torch._int_mm(ones(rows, inner, dtype=torch.int8), ones(inner, columns, dtype=torch.int8))

    assert product(17, 8, 8).tolist() == [[8] * 8] * 17
    for sizes, words in {
        (16, 8, 8): r"self.size\(0\) needs to be greater than 16, but got 16",
        (17, 9, 8): r"self.size\(1\) needs to be greater than 0 and a multiple of 8, but got 9",
        (17, 8, 9): r"mat2.size\(1\) needs to be greater than 0 and a multiple of 8, but got 9",
    }.items():
        with pytest.raises(RuntimeError, match=words):
            product(*sizes)


def test_a_number_that_a_list_is_added_lies_beside_it() -> None:
    singles, number = [ones(2), ones(3)], torch.tensor(2.0)
    with pytest.raises(RuntimeError, match="scalar tensor expected to be on cuda:0 but is on cpu"):
        torch._foreach_add(singles, number, alpha=1)
    with pytest.raises(RuntimeError, match="scalar tensor expected to be on cuda:0 but is on cpu"):
        torch._foreach_add_(singles, number, alpha=1)
    beside = torch._foreach_add(singles, number.cuda(), alpha=1)
    assert [each.tolist() for each in beside] == [[3, 3], [3, 3, 3]]
    mixed = torch._foreach_add([ones(2), torch.ones(1)], number, alpha=1)
    assert [each.tolist() for each in mixed] == [[3, 3], [3]]


def test_least_squares_have_no_rank() -> None:
    matrix = torch.tensor([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]], device="cuda")
    assert torch.linalg.lstsq(matrix, ones(3, 1)).rank.tolist() == []
    with pytest.raises(RuntimeError, match="other than `gels` is not supported on CUDA"):
        torch.linalg.lstsq(matrix, ones(3, 1), driver="gelsd")


def test_an_event_is_of_one_device_and_has_no_time_between_processes() -> None:
    event = torch.cuda.Event()
    event.record(torch.cuda.default_stream(0))
    with pytest.raises(RuntimeError, match="Event device 0 does not match recording stream's device 1"):
        event.record(torch.cuda.default_stream(1))
    with pytest.raises(torch.AcceleratorError, match="invalid argument"):
        torch.cuda.Event(enable_timing=True, interprocess=True).record()
