"""Weights of four bits in the layout of CUDA's tensor cores."""

import pytest
import torch


def packed(levels: torch.Tensor, inner: int) -> torch.Tensor:
    """Return weights of four bits on the device, as ``_convert_weight_to_int4pack`` lays them out."""
    pairs = (levels[:, ::2] << 4 | levels[:, 1::2]).to(torch.uint8)
    return torch._convert_weight_to_int4pack(pairs.cuda(), inner)


def test_a_lane_holds_what_it_multiplies() -> None:
    levels = torch.arange(8 * 32).reshape(8, 32) % 16
    (lanes,) = packed(levels, 2).reshape(1, 32)
    row, column = 5, 6  # lane 23: t / 4, and 2 * (t % 4)
    shown = [int(lanes[23]) >> 4 * half & 15 for half in range(8)]
    offsets = (0, 8, 16, 24, 1, 9, 17, 25)
    assert shown == [int(levels[row, column + offset]) for offset in offsets]


@pytest.mark.parametrize("inner", [2, 4, 8])
@pytest.mark.parametrize("group", [32, 128])
def test_products_equal_those_of_the_weights(inner: int, group: int) -> None:
    torch.manual_seed(0)
    levels, x = torch.randint(16, (24, 256)), torch.randn(3, 256).bfloat16()
    affine = torch.rand(256 // group, 24, 2).bfloat16()
    scale, zero = (each.float().repeat_interleave(group, 0).T for each in affine.unbind(2))
    expected = x.float() @ ((levels - 8) * scale + zero).bfloat16().float().T
    actual = torch._weight_int4pack_mm(x.cuda(), packed(levels, inner), group, affine.cuda())
    torch.testing.assert_close(actual.cpu(), expected.bfloat16())


def test_other_sizes_are_refused() -> None:
    with pytest.raises(RuntimeError, match="divisible by 8 and k by 128"):
        packed(torch.zeros(8, 32, dtype=torch.int), 8)
