"""Layouts of results that are contiguous on CUDA, where the CPU's kernels keep the memory format."""

from collections.abc import Callable

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor

CONTIGUOUS: dict[str, Callable[[Tensor], Tensor]] = {
    "roll": lambda x: x.roll(1, 1),
    "fftshift": lambda x: torch.fft.fftshift(x),
    "pixel_shuffle": lambda x: F.pixel_shuffle(x, 2),
    "pixel_unshuffle": lambda x: F.pixel_unshuffle(x, 2),
    "reflection": lambda x: F.pad(x, (1, 1, 1, 1), mode="reflect"),
    "replication": lambda x: F.pad(x, (1, 1, 1, 1), mode="replicate"),
}


@pytest.mark.parametrize("which", CONTIGUOUS)
def test_results_of_channels_last_are_contiguous(which: str) -> None:
    x = torch.randn(2, 4, 4, 4)
    result = CONTIGUOUS[which](x.cuda().to(memory_format=torch.channels_last))
    assert result.is_contiguous()
    assert torch.equal(result.cpu(), CONTIGUOUS[which](x))


def test_an_empty_batch_is_unshuffled() -> None:
    x = torch.ones(0, 4, 4, 4, device="cuda").to(memory_format=torch.channels_last)
    assert F.pixel_unshuffle(x, 2).shape == (0, 16, 2, 2)


def test_channels_are_shuffled_of_contiguous_tensors_only() -> None:
    x = torch.randn(2, 4, 3, 3, requires_grad=True)
    there = x.detach().cuda().requires_grad_()
    assert torch.equal(F.channel_shuffle(there, 2).cpu(), F.channel_shuffle(x, 2))
    with pytest.raises(RuntimeError, match="view size is not compatible"):
        F.channel_shuffle(there.transpose(2, 3), 2)
