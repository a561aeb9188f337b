"""Capture of operations while they run, and their replay into the same memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from torch.utils._pytree import tree_iter, tree_map

from morph.software import generators
from morph.software.machine import started

# Operations whose result decides what the program does next cannot be replayed; CUDA refuses them too
_WAITING = (torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape)
# Batch normalisation writes these, and its schema does not say so
_WRITTEN_SILENTLY = ("running_mean", "running_var")


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
        for output, value in zip(self.outputs, tree_iter(fresh), strict=True):
            if output is not None:
                output.copy_(value)


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


class Capture(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records the operations of this thread as steps.

    The operations run meanwhile, so that a program gets real tensors; what they change in tensors from before
    the capture, and in the generators, is put back at its end: on CUDA a capture computes nothing.

    Args:
        pool: The pool that the graph's memory is from. Its memory is not held by the steps, so that it is
            used again within the capture, and by later graphs of the pool, as on CUDA.
        states: Generators with the states that the graph may draw from.

    Attributes:
        steps: The operations of a replay.
        is_broken_off: Whether the program did something that a capture cannot hold.
    """

    def __init__(self, pool: tuple[int, int], states: Iterable[torch.Generator]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.steps: list[Step] = []
        self.is_broken_off = False
        self._pool = pool
        self._native = started().native
        self._device_type = started().device_type
        self._before: dict[int, tuple[torch.Tensor, torch.Tensor]] = {}
        self._states = [(generator, generator.get_state()) for generator in states]
        self._drawn_from = {self._native.generator_state(generator) for generator, _ in self._states}

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

    def add(self, work: Callable[[], object], tensors: Iterable[torch.Tensor]) -> None:
        """Run and record work that is no operation of torch's, such as the launch of a kernel.

        Args:
            work: Does it.
            tensors: All that it may write to.
        """

        def run() -> None:
            work()

        for tensor in tensors:
            self._keep(tensor)
        run()
        self.steps.append(Step(run, (), {}, (None,), None, False))

    def finish(self) -> None:
        """Put back what the capture changed outside of it."""
        with torch.inference_mode():
            for tensor, value in self._before.values():
                tensor.copy_(value)
        for generator, state in self._states:
            generator.set_state(state)

    def _has_part_in(self, values: Any) -> bool:
        return any(tensor.device.type == self._device_type for tensor in _tensors(values))

    def _refusal(self, reason: str) -> RuntimeError:
        self.is_broken_off = True
        title = started().character.title
        return RuntimeError(f"{title} error: operation not permitted when stream is capturing: {reason}")

    def _keep(self, tensor: torch.Tensor) -> None:
        storage = tensor.untyped_storage()
        is_inside = self._native.lies_in_pool(storage.data_ptr(), self._pool)
        if not is_inside and storage._cdata not in self._before:
            whole = torch.empty(0, dtype=torch.uint8, device=tensor.device).set_(storage)
            self._before[storage._cdata] = whole, whole.clone()

    def _record(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        if any(map(_is_pageable, _tensors(result))):
            raise self._refusal(f"the program must wait for {func} to memory that is not pinned")
        given = {tensor.untyped_storage()._cdata for tensor in _tensors((args, kwargs))}
        outputs = []
        for value in tree_iter(result):
            new = isinstance(value, torch.Tensor) and value.untyped_storage()._cdata not in given
            outputs.append(self._bare(value) if new else None)
        writes = func._schema.is_mutable or any(output is not None for output in outputs)
        if writes or func.namespace != "aten":  # else it only made views, which keep using their memory
            bare = tree_map(self._bare, args), tree_map(self._bare, kwargs)
            state = self._default_state(func, result)
            self.steps.append(Step(func, *bare, tuple(outputs), state, torch.is_grad_enabled()))

    def _bare(self, value: Any) -> Any:
        """Return an argument as a replay passes it: memory without history, a generator's current state."""
        if isinstance(value, torch.Tensor):
            return self._native.borrow(value.data, self._pool)
        return self._registered(value) if isinstance(value, torch.Generator) else value

    def _registered(self, generator: torch.Generator) -> torch.Generator:
        if generator.device.type == self._device_type:
            if self._native.generator_state(generator) not in self._drawn_from:
                title = started().character.title
                raise RuntimeError(
                    f"Attempt to increase offset for a {title} generator not in capture mode: "
                    "register it with the graph's register_generator_state"
                )
            return generator.graphsafe_get_state()
        return generator

    def _default_state(self, func: Any, result: Any) -> torch.Generator | None:
        if torch.Tag.nondeterministic_seeded not in func.tags:
            return None
        devices = (tensor.device for tensor in _tensors(result))
        index = next(device.index for device in devices if device.type == self._device_type)
        return self._registered(generators.get_default_generator(index))


def current() -> Capture | None:
    """Return the capture that this thread's work goes into, if any."""
    modes = reversed(_get_current_dispatch_mode_stack())
    return next((mode for mode in modes if isinstance(mode, Capture)), None)


def replay(steps: Iterable[Step]) -> None:
    """Run ``steps`` again, in order; they may write to tensors of an inference mode that has ended."""
    with torch.inference_mode():
        for step in steps:
            step.replay()


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    return (value for value in tree_iter(values) if isinstance(value, torch.Tensor))


def _is_pageable(tensor: torch.Tensor) -> bool:
    return tensor.is_cpu and not tensor.is_pinned()


def _written(func: Any, args: Any, kwargs: Any) -> Iterator[torch.Tensor]:
    for place, argument in enumerate(func._schema.arguments):
        said = argument.alias_info is not None and argument.alias_info.is_write
        if said or argument.name in _WRITTEN_SILENTLY:
            value = args[place] if place < len(args) else kwargs.get(argument.name)
            yield from _tensors(value)
