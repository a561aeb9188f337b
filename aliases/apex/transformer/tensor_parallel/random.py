"""Random numbers that differ within a tensor-parallel group, and checkpoints that repeat them."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import detach_variable

from ..ranks import get_tensor_model_parallel_rank as get_tensor_model_parallel_rank
from ..utils import gather_split_1d_tensor as gather_split_1d_tensor
from ..utils import split_tensor_into_1d_equal_chunks as split_tensor_into_1d_equal_chunks
from .memory import MemoryBuffer
from .memory import allocate_mem_buff as allocate_mem_buff

_MODEL_PARALLEL_RNG_TRACKER_NAME = "model-parallel-rng"
_CHECKPOINTED_ACTIVATIONS_MEMORY_BUFFER: MemoryBuffer | None = None


def init_checkpointed_activations_memory_buffer(
    micro_batch_size: int,
    max_position_embeddings: int,
    hidden_size: int,
    num_layers: int,
    tensor_model_parallel_size: int,
    checkpoint_num_layers: int,
    fp16: bool,
) -> None:
    """Take the memory that the activations of all checkpointed layers need."""
    global _CHECKPOINTED_ACTIVATIONS_MEMORY_BUFFER
    assert num_layers % checkpoint_num_layers == 0, (
        "number of layers is not divisible by checkpoint-num-layers"
    )
    assert _CHECKPOINTED_ACTIVATIONS_MEMORY_BUFFER is None, (
        "checkpointed activations memory buffer is already allocated."
    )
    of_a_layer = micro_batch_size * max_position_embeddings * hidden_size // tensor_model_parallel_size
    numel = of_a_layer * (num_layers // checkpoint_num_layers)
    _CHECKPOINTED_ACTIVATIONS_MEMORY_BUFFER = allocate_mem_buff(
        "checkpointed activations", numel, torch.half if fp16 else torch.float, track_usage=False
    )


def reset_checkpointed_activations_memory_buffer() -> None:
    """Take that memory's pieces back, if there is any."""
    if _CHECKPOINTED_ACTIVATIONS_MEMORY_BUFFER is not None:
        _CHECKPOINTED_ACTIVATIONS_MEMORY_BUFFER.reset()


class CudaRNGStatesTracker:
    """States of the device's generator, by name."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        """Forget all states."""
        self.states_: dict[str, Tensor] = {}
        self.seeds_: set[int] = set()

    def get_states(self) -> dict[str, Tensor]:
        """Return the states by name."""
        return dict(self.states_)

    def set_states(self, states: dict[str, Tensor]) -> None:
        """Take the states by name."""
        self.states_ = states

    def add(self, name: str, seed: int) -> None:
        """Keep the state that a seed gives.

        Raises:
            Exception: If the seed or the name is taken.
        """
        if seed in self.seeds_:
            raise Exception(f"seed {seed} already exists")
        if name in self.states_:
            raise Exception(f"cuda rng state {name} already exists")
        self.seeds_.add(seed)
        before = torch.cuda.get_rng_state()
        torch.cuda.manual_seed(seed)
        self.states_[name] = torch.cuda.get_rng_state()
        torch.cuda.set_rng_state(before)

    @contextlib.contextmanager
    def fork(self, name: str = _MODEL_PARALLEL_RNG_TRACKER_NAME) -> Iterator[None]:
        """Draw from the state called ``name`` for a block, which moves it on.

        Raises:
            Exception: If there is no such state.
        """
        if name not in self.states_:
            raise Exception(f"cuda rng state {name} is not added")
        before = torch.cuda.get_rng_state()
        torch.cuda.set_rng_state(self.states_[name])
        try:
            yield
        finally:
            self.states_[name] = torch.cuda.get_rng_state()
            torch.cuda.set_rng_state(before)


_CUDA_RNG_STATE_TRACKER = CudaRNGStatesTracker()


def get_cuda_rng_tracker() -> CudaRNGStatesTracker:
    """Return the states of this process."""
    return _CUDA_RNG_STATE_TRACKER


def model_parallel_cuda_manual_seed(seed: int) -> None:
    """Seed the device's generator, and the state that differs within the tensor-parallel group."""
    _CUDA_RNG_STATE_TRACKER.reset()
    torch.cuda.manual_seed(seed)
    own = seed + 2718 + get_tensor_model_parallel_rank()  # 2718 apart, so that no seed is taken twice
    _CUDA_RNG_STATE_TRACKER.add(_MODEL_PARALLEL_RNG_TRACKER_NAME, own)


RandomStates = tuple[Tensor, Tensor, dict[str, Tensor]]


def _random_states() -> RandomStates:
    return torch.get_rng_state(), torch.cuda.get_rng_state(), get_cuda_rng_tracker().get_states()


def _set_random_states(states: RandomStates) -> None:
    torch.set_rng_state(states[0])
    torch.cuda.set_rng_state(states[1])
    get_cuda_rng_tracker().set_states(states[2])


class CheckpointFunction(torch.autograd.Function):
    """Runs a function without keeping its activations, and again for the backward pass."""

    @staticmethod
    def forward(
        ctx: Any, run_function: Callable[..., Any], distribute_saved_activations: bool, *args: Any
    ) -> Any:
        """Return what the function returns."""
        ctx.run_function = run_function
        ctx.states = _random_states()
        with torch.no_grad():
            outputs = run_function(*args)
        ctx.save_for_backward(*args)
        return outputs

    @staticmethod
    def backward(ctx: Any, *args: Any) -> Any:
        """Return the gradients of the function's arguments.

        Raises:
            RuntimeError: If ``torch.autograd.grad`` asks for them.
        """
        if not torch.autograd._is_checkpoint_valid():  # type: ignore[no-untyped-call]
            raise RuntimeError(
                "Checkpointing is not compatible with .grad(), please use .backward() if possible"
            )
        states = _random_states()
        _set_random_states(ctx.states)
        inputs: Any = detach_variable(ctx.saved_tensors)
        with torch.enable_grad():
            outputs = ctx.run_function(*inputs)
        _set_random_states(states)
        torch.autograd.backward((outputs,) if isinstance(outputs, Tensor) else outputs, args)
        return None, None, *(each.grad if isinstance(each, Tensor) else each for each in inputs)


def checkpoint(function: Callable[..., Any], distribute_saved_activations: bool, *args: Any) -> Any:
    """Run a function without keeping its activations.

    Args:
        function: The function.
        distribute_saved_activations: Not looked at: the arguments are kept whole in every process.
        *args: Its arguments.
    """
    apply: Any = CheckpointFunction.apply
    return apply(function, distribute_saved_activations, *args)
