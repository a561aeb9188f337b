"""Layers whose weights are spread over the tensor-parallel group."""

from __future__ import annotations

import warnings

import torch
from torch import Tensor
from torch.nn.init import xavier_normal_

from ..log_util import get_transformer_logger
from ..ranks import (
    get_tensor_model_parallel_group,
    get_tensor_model_parallel_rank,
    get_tensor_model_parallel_world_size,
)
from ..utils import divide
from .attributes import (
    Initialiser,
    copy_tensor_model_parallel_attributes,
    param_is_not_tensor_parallel_duplicate,
    set_defaults_if_not_set_tensor_model_parallel_attributes,
    set_tensor_model_parallel_attributes,
)
from .embedding import VocabParallelEmbedding
from .linear import (
    LinearWithGradAccumulationAndAsyncCommunication,
    linear_with_grad_accumulation_and_async_allreduce,
)
from .mappings import (
    copy_to_tensor_model_parallel_region,
    gather_from_tensor_model_parallel_region,
    reduce_from_tensor_model_parallel_region,
    reduce_scatter_to_sequence_parallel_region,
    scatter_to_tensor_model_parallel_region,
)
from .parallel_linear import ParallelLinear
from .random import get_cuda_rng_tracker
from .utils import VocabUtility

__all__ = [
    "ColumnParallelLinear",
    "LinearWithGradAccumulationAndAsyncCommunication",
    "RowParallelLinear",
    "VocabParallelEmbedding",
    "VocabUtility",
    "copy_tensor_model_parallel_attributes",
    "copy_to_tensor_model_parallel_region",
    "divide",
    "gather_from_tensor_model_parallel_region",
    "get_cuda_rng_tracker",
    "get_tensor_model_parallel_group",
    "get_tensor_model_parallel_rank",
    "get_tensor_model_parallel_world_size",
    "get_transformer_logger",
    "linear_with_grad_accumulation_and_async_allreduce",
    "param_is_not_tensor_parallel_duplicate",
    "reduce_from_tensor_model_parallel_region",
    "reduce_scatter_to_sequence_parallel_region",
    "scatter_to_tensor_model_parallel_region",
    "set_defaults_if_not_set_tensor_model_parallel_attributes",
    "set_tensor_model_parallel_attributes",
]


class ColumnParallelLinear(ParallelLinear):
    """A linear layer whose outputs are spread over the group.

    Args:
        input_size: How many features an input has.
        output_size: How many features an output has in all processes together.
        bias: Whether there is a bias.
        gather_output: Whether every process gets the whole output.
        init_method: Fills the weight.
        stride: In how many pieces each process has its part of the weight.
        keep_master_weight_for_test: Whether the whole weight is kept, if it is made on the host.
        skip_bias_add: Whether the bias is returned, and not added.
        no_async_tensor_model_parallel_allreduce: Whether gradients are added up before more is computed.
        params_dtype: The parameters' dtype.
        use_cpu_initialization: Whether parameters are made on the host.
        gradient_accumulation_fusion: Whether the weight's gradient is added to its ``main_grad``.
        sequence_parallel_enabled: Whether each process has a part of the sequence as its input.
        accumulation_in_fp16: No longer looked at.

    Raises:
        RuntimeError: If gradients are to be added up while each process has a part of the sequence.
    """

    dimension = 0

    def __init__(
        self,
        input_size: int,
        output_size: int,
        bias: bool = True,
        gather_output: bool = True,
        init_method: Initialiser = xavier_normal_,
        stride: int = 1,
        keep_master_weight_for_test: bool = False,
        skip_bias_add: bool = False,
        *,
        no_async_tensor_model_parallel_allreduce: bool = False,
        params_dtype: torch.dtype = torch.float32,
        use_cpu_initialization: bool = False,
        gradient_accumulation_fusion: bool = False,
        sequence_parallel_enabled: bool = False,
        accumulation_in_fp16: bool | None = None,
    ) -> None:
        super().__init__()
        self._warn(accumulation_in_fp16)
        world_size = get_tensor_model_parallel_world_size()
        self.input_size = input_size
        self.output_size = output_size
        self.output_size_per_partition = divide(output_size, world_size)
        self.gather_output = gather_output
        self.skip_bias_add = skip_bias_add
        self.gradient_accumulation_fusion = gradient_accumulation_fusion
        self.async_tensor_model_parallel_allreduce = (
            not no_async_tensor_model_parallel_allreduce and world_size > 1
        )
        self.sequence_parallel_enabled = sequence_parallel_enabled
        if sequence_parallel_enabled and world_size <= 1:
            message = f"`sequence_parallel_enabled` is set to `True`, but got world_size of {world_size}"
            warnings.warn(message, stacklevel=2)
        if self.async_tensor_model_parallel_allreduce and sequence_parallel_enabled:
            raise RuntimeError(
                "`async_tensor_model_parallel_allreduce` and `sequence_parallel_enabled` "
                "cannot be enabled at the same time."
            )
        options = {
            "use_cpu_initialization": use_cpu_initialization,
            "params_dtype": params_dtype,
            "init_method": init_method,
            "stride": stride,
        }
        self._make((output_size, input_size), bias, options, keep_master_weight_for_test)
        if self.bias is not None:
            set_tensor_model_parallel_attributes(self.bias, True, 0, stride)

    def forward(self, input_: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the output, and the bias if it was not added.

        Args:
            input_: Of shape (sequence, batch, in).
        """
        overlapped = self.async_tensor_model_parallel_allreduce or self.sequence_parallel_enabled
        input_parallel = input_ if overlapped else copy_to_tensor_model_parallel_region(input_)
        output = linear_with_grad_accumulation_and_async_allreduce(
            input_parallel,
            self.weight,
            None if self.skip_bias_add else self.bias,
            self.gradient_accumulation_fusion,
            self.async_tensor_model_parallel_allreduce,
            self.sequence_parallel_enabled,
        )
        if self.gather_output:
            assert not self.sequence_parallel_enabled
            output = gather_from_tensor_model_parallel_region(output)
        return output, self.bias if self.skip_bias_add else None


class RowParallelLinear(ParallelLinear):
    """A linear layer whose inputs are spread over the group.

    Args:
        input_size: How many features an input has in all processes together.
        output_size: How many features an output has.
        bias: Whether there is a bias.
        input_is_parallel: Whether each process has its part of the input, and not the whole.
        init_method: Fills the weight.
        stride: In how many pieces each process has its part of the weight.
        keep_master_weight_for_test: Whether the whole weight is kept, if it is made on the host.
        skip_bias_add: Whether the bias is returned, and not added.
        params_dtype: The parameters' dtype.
        use_cpu_initialization: Whether parameters are made on the host.
        gradient_accumulation_fusion: Whether the weight's gradient is added to its ``main_grad``.
        sequence_parallel_enabled: Whether each process gets a part of the sequence as its output.
        accumulation_in_fp16: No longer looked at.

    Raises:
        RuntimeError: If parts of the sequence are asked for of a whole input.
    """

    dimension = 1

    def __init__(
        self,
        input_size: int,
        output_size: int,
        bias: bool = True,
        input_is_parallel: bool = False,
        init_method: Initialiser = xavier_normal_,
        stride: int = 1,
        keep_master_weight_for_test: bool = False,
        skip_bias_add: bool = False,
        *,
        params_dtype: torch.dtype = torch.float32,
        use_cpu_initialization: bool = False,
        gradient_accumulation_fusion: bool = False,
        sequence_parallel_enabled: bool = False,
        accumulation_in_fp16: bool | None = None,
    ) -> None:
        super().__init__()
        self._warn(accumulation_in_fp16)
        self.input_size = input_size
        self.output_size = output_size
        self.input_size_per_partition = divide(input_size, get_tensor_model_parallel_world_size())
        self.input_is_parallel = input_is_parallel
        self.skip_bias_add = skip_bias_add
        self.gradient_accumulation_fusion = gradient_accumulation_fusion
        self.sequence_parallel_enabled = sequence_parallel_enabled
        if sequence_parallel_enabled and not input_is_parallel:
            raise RuntimeError("To enable `sequence_parallel_enabled`, `input_is_parallel` must be `True`")
        options = {
            "use_cpu_initialization": use_cpu_initialization,
            "params_dtype": params_dtype,
            "init_method": init_method,
            "stride": stride,
        }
        self._make((output_size, input_size), bias, options, keep_master_weight_for_test)
        if self.bias is not None:
            self.bias.sequence_parallel_enabled = sequence_parallel_enabled  # type: ignore[attr-defined]

    def forward(self, input_: Tensor) -> tuple[Tensor, Tensor | None]:
        """Return the output, and the bias if it was not added.

        Args:
            input_: Of shape (sequence, batch, in).
        """
        if not self.input_is_parallel:
            assert not self.sequence_parallel_enabled
            input_ = scatter_to_tensor_model_parallel_region(input_)
        partial = linear_with_grad_accumulation_and_async_allreduce(
            input_, self.weight, None, self.gradient_accumulation_fusion, False, False
        )
        if self.sequence_parallel_enabled:
            output = reduce_scatter_to_sequence_parallel_region(partial)
        else:
            output = reduce_from_tensor_model_parallel_region(partial)
        if self.skip_bias_add:
            return output, self.bias
        return output if self.bias is None else output + self.bias, None
