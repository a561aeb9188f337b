"""What a kernel of the CPU's sees of a device tensor is a tensor of this call alone."""

import contextlib
import warnings
from collections.abc import Callable, Iterator

import pytest
import torch
from torch import Tensor

from tests.software import own

pytestmark = [pytest.mark.usefixtures("vendor_worker"), own.only_simulated]


@contextlib.contextmanager
def kernel(function: Callable[[Tensor], Tensor]) -> Iterator[None]:
    """Makes a function the CPU's kernel of `torch.sinc`."""
    with torch.library._scoped_library("aten", "IMPL") as library, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that its own kernel is replaced
        library.impl("sinc", function, "CPU")
        yield


def test_a_view_that_a_kernel_keeps_stays_as_it_is() -> None:
    seen: list[Tensor] = []
    one, other = torch.arange(3.0, device=own.device()), torch.full((3,), 7.0, device=own.device())
    with kernel(lambda tensor: seen.append(tensor) or tensor.clone()):  # type: ignore[func-returns-value]
        torch.sinc(one)
        torch.sinc(other + 1)
    assert [tensor.tolist() for tensor in seen] == [[0, 1, 2], [8, 8, 8]]


def test_a_view_is_a_new_object_of_pythons_in_each_call() -> None:
    marked: list[bool] = []

    def marking(tensor: Tensor) -> Tensor:
        marked.append(hasattr(tensor, "mark"))
        tensor.mark = True  # type: ignore[attr-defined]
        return tensor.clone()

    one = torch.ones(3, device=own.device())
    with kernel(marking):
        for _ in range(3):
            torch.sinc(one)
    assert marked == [False] * 3


def test_a_view_belongs_to_the_mode_of_its_call() -> None:
    modes: list[bool] = []
    one = torch.ones(3, device=own.device())
    with kernel(lambda tensor: modes.append(tensor.is_inference()) or tensor.clone()):  # type: ignore[func-returns-value]
        for wanted in (False, True, False, True):
            with torch.inference_mode(wanted):
                (one + one).exp()
                torch.sinc(one)
    assert modes == [False, True, False, True]


def test_a_view_has_the_dtype_and_layout_of_its_tensor() -> None:
    numbers = torch.arange(6, device=own.device()).view(2, 3)
    assert (numbers + 1).tolist() == [[1, 2, 3], [4, 5, 6]]
    assert (numbers.t() + 0.5).tolist() == [[0.5, 3.5], [1.5, 4.5], [2.5, 5.5]]
    assert (numbers[1:, 1:] > 4).tolist() == [[False, True]]
    assert (numbers[:, 2] * 1j).tolist() == [2j, 5j]


def test_copies_of_every_kind() -> None:
    device = own.device()
    numbers = torch.tensor([1 + 2j, 3 - 4j], device=device)
    assert torch.empty_like(numbers).copy_(numbers.conj()).tolist() == [1 - 2j, 3 + 4j]
    assert torch.empty_like(numbers).copy_(numbers).tolist() == [1 + 2j, 3 - 4j]
    assert torch.empty(2, 2, device=device).copy_(torch.arange(2.0, device=device)).tolist() == [[0, 1]] * 2
    square = torch.arange(4.0, device=device).view(2, 2)
    assert torch.empty(2, 2, device=device).copy_(square.t()).tolist() == [[0, 2], [1, 3]]
    assert torch.empty(2, 2, device=device).t().copy_(square.t()).tolist() == [[0, 2], [1, 3]]
    assert square.copy_(square).tolist() == [[0, 1], [2, 3]]
    row = torch.zeros(4, 4, device=device)
    row[:, 1].copy_(torch.arange(4.0))
    assert row.sum(0).tolist() == [0, 6, 0, 0]


@pytest.mark.parametrize("bounds", [(4,), (2, 5), (0, 1, 0.25), (5, 1, -2)])
def test_ranges_are_the_cpus(bounds: tuple[float, ...]) -> None:
    there, here = torch.arange(*bounds, device=own.device()), torch.arange(*bounds)
    assert (there.tolist(), there.dtype) == (here.tolist(), here.dtype)
    given = torch.empty(0, dtype=here.dtype, device=own.device())
    assert torch.arange(*bounds, out=given) is given
    assert given.tolist() == here.tolist()


def test_a_lazy_clone_is_shared_while_others_are_written() -> None:
    source = torch.ones(3, device=own.device())
    lazy = torch._lazy_clone(source)
    torch.zeros(3, device=own.device()).add_(lazy)
    assert torch._C._is_cow_tensor(lazy)  # type: ignore[attr-defined]
    torch.add(lazy, 1, out=lazy)
    assert not torch._C._is_cow_tensor(lazy)  # type: ignore[attr-defined]
    assert (source.tolist(), lazy.tolist()) == ([1, 1, 1], [2, 2, 2])


def test_a_lazy_clone_that_is_read_and_written_is_its_own() -> None:
    source = torch.ones(4, device=own.device())
    lazy = torch._lazy_clone(source)
    torch.add(lazy[:2], 1, out=lazy[2:])
    assert (source.tolist(), lazy.tolist()) == ([1, 1, 1, 1], [1, 1, 2, 2])
