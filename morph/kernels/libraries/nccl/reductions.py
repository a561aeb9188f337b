"""NCCL's reductions by those that gloo has."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

SUM, PRODUCT, MAX, MIN, AVERAGE = range(5)
# ncclDataType_t
DTYPES = {
    0: torch.int8,
    1: torch.uint8,
    2: torch.int32,
    3: torch.uint32,
    4: torch.int64,
    5: torch.uint64,
    6: torch.float16,
    7: torch.float32,
    8: torch.float64,
    9: torch.bfloat16,
    10: torch.float8_e4m3fn,
    11: torch.float8_e5m2,
}
FLOAT8 = torch.float8_e4m3fn, torch.float8_e5m2
# what gloo does not reduce is carried in a type that holds all its values, or that wraps around as it does
_CARRIED = {torch.uint32: torch.int64, **dict.fromkeys(FLOAT8, torch.float16)}
_SIGN = -(1 << 63)  # exchanging the sign orders uint64 as int64


@dataclass(frozen=True)
class Reduction:
    """A reduction of one data type.

    Attributes:
        kind: ``SUM``, ``PRODUCT``, ``MAX``, ``MIN`` or ``AVERAGE``.
        dtype: The data type.
        factor: What each rank's values are multiplied by first.
    """

    kind: int
    dtype: torch.dtype
    factor: float | None = None  # of an integer type a whole number

    @property
    def operation(self) -> Any:
        """The operation of torch.distributed's that carries it out."""
        kinds = torch.distributed.ReduceOp
        return [kinds.SUM, kinds.PRODUCT, kinds.MAX, kinds.MIN, kinds.SUM][self.kind]

    def before(self, source: torch.Tensor, size: int) -> torch.Tensor:
        """Return a copy of a rank's values for gloo, of ``size`` ranks."""
        is_mean = self.kind == AVERAGE and self.dtype.is_floating_point
        factor = 1 / size if is_mean else self.factor
        if factor is not None:
            source = self._multiplied(source, factor)
        if self.dtype is torch.uint64:
            carried = source.view(torch.int64).clone()
            return carried ^ _SIGN if self.kind in (MAX, MIN) else carried
        return source.to(_CARRIED.get(self.dtype, self.dtype), copy=True)

    def after(self, carried: torch.Tensor, size: int) -> torch.Tensor:
        """Return the result of what gloo gave, for ``size`` ranks."""
        if self.kind == AVERAGE and self.dtype is torch.uint64:
            carried = _unsigned_quotient(carried, size)
        elif self.kind == AVERAGE and not self.dtype.is_floating_point:
            carried = self._rounded(carried).to(carried.dtype).div(size, rounding_mode="trunc")
        if self.dtype is torch.uint64:
            return (carried ^ _SIGN if self.kind in (MAX, MIN) else carried).view(torch.uint64)
        return self._rounded(carried)

    def _multiplied(self, source: torch.Tensor, factor: float) -> torch.Tensor:
        if not self.dtype.is_floating_point:  # what is over wraps around
            bits = source.view(torch.int64) if self.dtype is torch.uint64 else source.to(torch.int64)
            product = bits * torch.tensor(int(factor) % 2**64, dtype=torch.uint64).view(torch.int64)
            return product.view(torch.uint64) if self.dtype is torch.uint64 else product.to(self.dtype)
        own = torch.tensor(factor, dtype=torch.float64).to(self.dtype).to(torch.float64)
        return self._rounded(source.to(torch.float64).mul(own))

    def _rounded(self, values: torch.Tensor) -> torch.Tensor:
        if self.dtype in FLOAT8:  # to finite numbers, as by NCCL
            most = torch.finfo(self.dtype).max
            values = values.clamp(-most, most)
        return values.to(self.dtype)


def _unsigned_quotient(bits: torch.Tensor, divisor: int) -> torch.Tensor:
    """Return the quotients of numbers of 64 bits without a sign, which int64 carries."""
    halved = (bits >> 1) & ((1 << 63) - 1)
    quotient = halved.div(divisor, rounding_mode="trunc") * 2
    return quotient + (bits - quotient * divisor >= divisor)
