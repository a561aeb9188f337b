"""Capture of operations while they run, and their replay into the same memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_iter, tree_map

# Operations whose result decides what the program does next cannot be replayed; CUDA refuses them too
_WAITING = (torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape)
# Batch normalisation writes these, and its schema does not say so
_WRITTEN_SILENTLY = ("running_mean", "running_var")


@dataclass(frozen=True)
class Step:
    """One operation, with the memory that it reads and writes.

    Attributes:
        operation: The operator.
        args: Its arguments; tensors without their history, so that a replay leaves autograd alone.
        kwargs: As ``args``.
        outputs: The tensors that it created, which each replay fills again.
    """

    operation: Callable[..., Any]
    args: Any
    kwargs: Any
    outputs: tuple[torch.Tensor | None, ...]

    def replay(self) -> None:
        """Run the operation again, into the same outputs."""
        fresh = self.operation(*self.args, **self.kwargs)
        for output, value in zip(self.outputs, tree_iter(fresh), strict=True):
            if output is not None:
                output.copy_(value)


class Capture(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records the operations of this thread as steps.

    The operations run meanwhile, so that a program gets real tensors; what they change in tensors from before
    the capture, and in the generators, is put back at its end: on CUDA a capture computes nothing.

    Args:
        device_type: Of the device; what only the host works on is not captured.
        title: The device in error messages.
        get_states: Returns the states of the device's generators.
        set_states: Sets them.
    """

    def __init__(
        self,
        device_type: str = "cpu",
        title: str = "CUDA",
        get_states: Callable[[], Any] = torch.get_rng_state,
        set_states: Callable[[Any], None] = torch.set_rng_state,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.steps: list[Step] = []
        self._device_type = device_type
        self._title = title
        self._created: dict[int, torch.UntypedStorage] = {}
        self._before: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._put_generators_back = partial(set_states, get_states())

    def __torch_dispatch__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if any(tag in func.tags for tag in _WAITING) and self._has_part_in(args):
            raise self._refusal(f"{func} has a result that the program must wait for")
        kwargs = kwargs or {}
        takes = self._has_part_in((args, kwargs))
        for tensor in _written(func, args, kwargs) if takes else ():
            self._keep(tensor)
        result = func(*args, **kwargs)
        if takes or self._has_part_in(result):
            self._record(func, args, kwargs, result)
        return result

    def finish(self) -> None:
        """Put back what the capture changed outside of it."""
        with torch.inference_mode():
            for tensor, value in self._before.values():
                tensor.copy_(value)
        self._put_generators_back()

    def _has_part_in(self, values: Any) -> bool:
        return any(tensor.device.type == self._device_type for tensor in _tensors(values))

    def _refusal(self, reason: str) -> RuntimeError:
        return RuntimeError(
            f"{self._title} error: operation not permitted when stream is capturing: {reason}"
        )

    def _keep(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._created and storage._cdata not in self._before:
            whole = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
            self._before[storage._cdata] = whole, whole.clone()

    def _record(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        if self._device_type != "cpu" and any(map(_is_pageable, _tensors(result))):
            raise self._refusal(f"the program must wait for {func} to memory that is not pinned")
        given = {tensor.untyped_storage()._cdata for tensor in _tensors((args, kwargs))}
        outputs = []
        for value in tree_iter(result):
            new = isinstance(value, torch.Tensor) and value.untyped_storage()._cdata not in given
            outputs.append(_bare(value) if new else None)
            if new:
                self._created[value.untyped_storage()._cdata] = value.untyped_storage()
        writes = func._schema.is_mutable or any(output is not None for output in outputs)
        if writes or func.namespace != "aten":  # else it only made views, which keep looking at their memory
            self.steps.append(Step(func, tree_map(_bare, args), tree_map(_bare, kwargs), tuple(outputs)))


def replay(steps: Iterable[Step]) -> None:
    """Run ``steps`` again, in order; they may write to tensors of an inference mode that has ended."""
    with torch.inference_mode():
        for step in steps:
            step.replay()


def _bare(value: Any) -> Any:
    """Return a tensor of the same memory without history and with a version counter of its own."""
    return value.data if isinstance(value, torch.Tensor) else value


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    return (value for value in tree_iter(values) if isinstance(value, torch.Tensor))


def _is_pageable(tensor: torch.Tensor) -> bool:
    return tensor.is_cpu and not tensor.is_pinned()


def _written(func: Any, args: Any, kwargs: Any) -> Iterator[torch.Tensor]:
    for place, argument in enumerate(func._schema.arguments):
        said = argument.alias_info is not None and argument.alias_info.is_write
        if said or argument.name in _WRITTEN_SILENTLY:
            given = args[place] if place < len(args) else kwargs.get(argument.name)
            yield from _tensors(given)
