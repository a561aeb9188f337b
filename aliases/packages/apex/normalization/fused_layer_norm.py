"""The modules, and the other names of apex's module."""

from __future__ import annotations

import numbers
import warnings
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from .functional import fused_layer_norm as fused_layer_norm
from .functional import fused_layer_norm_affine as fused_layer_norm_affine
from .functional import fused_rms_norm as fused_rms_norm
from .functional import fused_rms_norm_affine as fused_rms_norm_affine
from .functional import manual_rms_norm as manual_rms_norm
from .functional import mixed_dtype_fused_layer_norm_affine as mixed_dtype_fused_layer_norm_affine
from .functional import mixed_dtype_fused_rms_norm_affine as mixed_dtype_fused_rms_norm_affine
from .functions import FusedLayerNormAffineFunction as FusedLayerNormAffineFunction
from .functions import FusedLayerNormAffineMixedDtypesFunction as FusedLayerNormAffineMixedDtypesFunction
from .functions import FusedLayerNormFunction as FusedLayerNormFunction
from .functions import FusedRMSNormAffineFunction as FusedRMSNormAffineFunction
from .functions import FusedRMSNormAffineMixedDtypesFunction as FusedRMSNormAffineMixedDtypesFunction
from .functions import FusedRMSNormFunction as FusedRMSNormFunction


class _Norm(nn.Module):
    """The common parts of the modules: shape, options and parameters.

    Args:
        normalized_shape: The trailing dimensions that are normalised together, or the size of the last.
        eps: Added to the variance or the mean square.
        elementwise_affine: Whether there are parameters.
        memory_efficient: Whether the output is saved for the backward pass instead of the input.
    """

    __constants__ = ("normalized_shape", "eps", "elementwise_affine")
    parameter_names: tuple[str, ...]

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        elementwise_affine: bool = True,
        memory_efficient: bool = False,
    ) -> None:
        super().__init__()
        sizes: Any = (
            (normalized_shape,) if isinstance(normalized_shape, numbers.Integral) else normalized_shape
        )
        self.normalized_shape = torch.Size(sizes)
        self.eps = eps
        self.elementwise_affine = elementwise_affine
        self.memory_efficient = memory_efficient
        for name in self.parameter_names:
            parameter = nn.Parameter(torch.empty(self.normalized_shape)) if elementwise_affine else None
            self.register_parameter(name, parameter)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Set the weight to one and the bias, if there is one, to zero."""
        if self.elementwise_affine:
            for name, value in zip(self.parameter_names, (1.0, 0.0), strict=False):
                nn.init.constant_(self.get_parameter(name), value)

    def extra_repr(self) -> str:
        """Return the shape and the options for ``repr``."""
        return f"{self.normalized_shape}, eps={self.eps}, elementwise_affine={self.elementwise_affine}"


class FusedLayerNorm(_Norm):
    """Layer normalisation, like ``torch.nn.LayerNorm``, with the arguments of its base."""

    parameter_names = ("weight", "bias")
    if TYPE_CHECKING:  # TorchScript reads annotations at run time
        weight: Any
        bias: Any

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input, in its dtype."""
        if torch.jit.is_scripting() or not input.is_cuda:  # type: ignore[attr-defined]
            return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)
        options = self.normalized_shape, self.eps, self.memory_efficient
        if not self.elementwise_affine:
            return fused_layer_norm(input, *options)
        return fused_layer_norm_affine(input, self.weight, self.bias, *options)


class FusedRMSNorm(_Norm):
    """Normalisation by the root mean square, like ``torch.nn.RMSNorm``, with the arguments of its base."""

    parameter_names = ("weight",)
    if TYPE_CHECKING:
        weight: Any

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input, in its dtype."""
        if not input.is_cuda:
            return manual_rms_norm(input, self.normalized_shape, self.weight, self.eps)
        options = self.normalized_shape, self.eps, self.memory_efficient
        if not self.elementwise_affine:
            return fused_rms_norm(input, *options)
        return fused_rms_norm_affine(input, self.weight, *options)


class MixedFusedLayerNorm(FusedLayerNorm):
    """Layer normalisation whose output has the parameters' dtype.

    Arguments as its base; ``elementwise_affine`` must be true.

    Raises:
        RuntimeError: If it is not.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        *,
        memory_efficient: bool = False,
        **kwargs: Any,
    ) -> None:
        _check_affine(type(self).__name__, kwargs)
        super().__init__(normalized_shape, eps, True, memory_efficient)

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input, in the parameters' dtype."""
        if torch.jit.is_scripting() or not input.is_cuda:  # type: ignore[attr-defined]
            return F.layer_norm(input, self.normalized_shape, self.weight, self.bias, self.eps)
        options = self.normalized_shape, self.eps, self.memory_efficient
        return mixed_dtype_fused_layer_norm_affine(input, self.weight, self.bias, *options)


class MixedFusedRMSNorm(FusedRMSNorm):
    """Normalisation by the root mean square whose output has the weight's dtype.

    Arguments as its base; ``elementwise_affine`` must be true.

    Raises:
        RuntimeError: If it is not.
    """

    def __init__(
        self,
        normalized_shape: int | Sequence[int],
        eps: float = 1e-5,
        *,
        memory_efficient: bool = False,
        **kwargs: Any,
    ) -> None:
        _check_affine(type(self).__name__, kwargs)
        super().__init__(normalized_shape, eps, True, memory_efficient)

    def forward(self, input: Tensor) -> Tensor:
        """Return the normalised input, in the weight's dtype."""
        if not input.is_cuda:
            return manual_rms_norm(input, self.normalized_shape, self.weight, self.eps)
        options = self.normalized_shape, self.eps, self.memory_efficient
        return mixed_dtype_fused_rms_norm_affine(input, self.weight, *options)


def _check_affine(name: str, kwargs: dict[str, Any]) -> None:
    if "elementwise_affine" in kwargs:
        warnings.warn(f"{name} does not support `elementwise_affine` argument", stacklevel=3)
        if not kwargs["elementwise_affine"]:
            raise RuntimeError(f"{name} does not support `elementwise_affine = False`")


def supports_custom_op() -> bool:
    """Return whether torch can register operators written in Python; it can."""
    return True
