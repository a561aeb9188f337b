"""The steps of a graph: operations that run again in the same memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch.utils._pytree import tree_iter

from morph.software import generators
from morph.software.machine import started


class Step(NamedTuple):
    """One operation, with the memory that it reads and writes.

    Attributes:
        operation: The operator.
        args: Its arguments; tensors without their history, so that a replay leaves autograd alone.
        kwargs: As ``args``.
        outputs: The tensors that it created, which each replay fills again.
        state: A generator with the state that the operator draws from where it names no generator.
        is_for_backward: Whether gradients were asked for, for which some operators keep more.
    """

    operation: Callable[..., Any]
    args: Any
    kwargs: Any
    outputs: tuple[torch.Tensor | None, ...]
    state: torch.Generator | None
    is_for_backward: bool

    def replay(self) -> None:
        """Run the operation again, into the same outputs."""
        with _Drawing(self.state), torch.set_grad_enabled(self.is_for_backward):
            fresh = self.operation(*self.args, **self.kwargs)
        settle(self.operation, fresh)
        for output, value in zip(self.outputs, tree_iter(fresh), strict=True):
            if output is not None and value is not None:  # not so a gradient that was not asked for
                started().native.write_result(output, value)


class _Drawing:
    """Makes the default generator of the current device draw from another state."""

    def __init__(self, state: torch.Generator | None) -> None:
        self._state = state
        self._own: torch.Generator | None = None

    def __enter__(self) -> None:
        if self._state is not None:
            generator = generators.get_default_generator(self._state.device.index)
            self._own = generator.graphsafe_get_state()
            generator.graphsafe_set_state(self._state)

    def __exit__(self, *exception: object) -> None:
        if self._own is not None:
            generators.get_default_generator(self._own.device.index).graphsafe_set_state(self._own)


def replay(steps: Iterable[Step]) -> None:
    """Run ``steps`` again, in order; they may write to tensors of an inference mode that has ended."""
    with torch.inference_mode():
        for step in steps:
            step.replay()


def settle(operation: Any, result: Any) -> None:
    """Wait for a functional collective, whose wait is no operation of its own."""
    if getattr(operation, "namespace", "") == "_c10d_functional":
        for tensor in tree_iter(result):
            torch.ops._c10d_functional.wait_tensor(tensor)
