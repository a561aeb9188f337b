"""Capture of operations while they run, and their replay into the same memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
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
    the capture, and in the generator, is put back at its end: on CUDA a capture computes nothing.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.steps: list[Step] = []
        self._created: dict[int, torch.UntypedStorage] = {}
        self._before: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._generator_state = torch.get_rng_state()

    def __torch_dispatch__(
        self, func: Any, types: object, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if any(tag in func.tags for tag in _WAITING):
            raise RuntimeError(
                f"CUDA error: operation not permitted when stream is capturing: {func} has a result that the "
                "program must wait for"
            )
        kwargs = kwargs or {}
        for tensor in _written(func, args, kwargs):
            self._keep(tensor)
        result = func(*args, **kwargs)
        self._record(func, args, kwargs, result)
        return result

    def finish(self) -> None:
        """Put back what the capture changed outside of it."""
        with torch.inference_mode():
            for tensor, value in self._before.values():
                tensor.copy_(value)
        torch.set_rng_state(self._generator_state)

    def _keep(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        if storage._cdata not in self._created and storage._cdata not in self._before:
            whole = torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage)
            self._before[storage._cdata] = whole, whole.clone()

    def _record(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
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


def _written(func: Any, args: Any, kwargs: Any) -> Iterator[torch.Tensor]:
    for place, argument in enumerate(func._schema.arguments):
        said = argument.alias_info is not None and argument.alias_info.is_write
        if said or argument.name in _WRITTEN_SILENTLY:
            given = args[place] if place < len(args) else kwargs.get(argument.name)
            yield from _tensors(given)
