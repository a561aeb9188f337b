"""Capture of operations, which computes nothing, and their replay into the same memory."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch.utils._python_dispatch import TorchDispatchMode, _get_current_dispatch_mode_stack
from torch.utils._pytree import tree_iter, tree_map

from morph.software import blocking_operations, distributed, foresight, generators
from morph.software.machine import started
from morph.software.steps import Step, settle

PAGEABLE = (
    "Cannot copy between CPU and CUDA tensors during CUDA graph capture unless the CPU tensor is pinned. "
    "Please use tensor.pin_memory() or allocate the tensor with pin_memory=True."
)


class Capture(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Records the operations of this thread as steps.

    Nothing is computed meanwhile, as on CUDA: the program gets tensors of the right shapes, which each replay
    fills.

    Args:
        pool: The pool that the graph's memory is from. Its memory is not held by the steps, so that it is
            used again within the capture, and by later graphs of the pool, as on CUDA.
        states: Generators with the states that the graph may draw from.

    Attributes:
        steps: The operations of a replay.
        saved_states: States of generators, which each replay saves again, by the offsets that they got.
    """

    def __init__(self, pool: tuple[int, int], states: Iterable[torch.Generator]) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.steps: list[Step] = []
        self.saved_states: dict[int, torch.Tensor] = {}
        self._has_begun = False  # a collective that no step settles yet
        self._works: list[Any] = []  # whose overridden methods torch calls as long as Python's object lives
        self._pool = pool
        self._native = started().native
        self._device_type = started().device_type
        has_check = torch.__version__ >= "2.11"  # which compares numbers; a vendor's package has none
        self._refuses_pageable = has_check and self._device_type == "cuda"
        self._states = [(generator, generator.get_state()) for generator in states]
        self._drawn_from = {self._native.generator_state(generator) for generator, _ in self._states}

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if any(map(_has_own_dispatch, types)):
            return NotImplemented  # what such a tensor is made of comes back here
        kwargs = kwargs or {}
        if not self._has_part_in((args, kwargs)):
            return func(*args, **kwargs)  # at once, as on every stream that does not come after the first
        if foresight.is_composite(func):
            with self:
                return func.decompose(*args, **kwargs)
        if foresight.is_in_python(func, self._device_type):
            with self:
                return foresight.function_in_python(func, self._device_type)(*args, **kwargs)
        named = foresight.arguments(func, args, kwargs)
        if self._refuses_pageable and blocking_operations.copies_pageable_memory(func, named):
            raise RuntimeError(PAGEABLE)
        if blocking_operations.refused(func, named):
            self._native.refuse_in_capture(f"the program must wait for {func}")
        self._native.need_handle(func._schema.name)
        if foresight.is_collective(func):
            return self._communicated(func, args, kwargs)
        if foresight.computes_nothing(func):
            return func(*args, **kwargs)
        try:
            result = foresight.results(func, args, kwargs)
        except foresight.UnforeseeableError:
            result = self._tried(func, args, kwargs)
        self._record(func, args, kwargs, result)
        return result

    def add(self, work: Callable[[], object], draws_on: int | None = None) -> None:
        """Record work that is no operation of torch's, such as the launch of a kernel.

        Args:
            work: Does it.
            draws_on: The device whose default generator it may draw from, if any.
        """

        def run() -> None:
            work()

        state = None if draws_on is None else self._registered(generators.get_default_generator(draws_on))
        self._append(Step(run, (), {}, (None,), state, False))

    @contextmanager
    def apart(self) -> Iterator[list[Step]]:
        """Capture the work of a ``with`` block into steps of their own, which the caller has to replay."""
        others, self.steps = self.steps, []
        try:
            with self:
                yield self.steps
            self._settle()
        finally:
            self.steps = others

    def add_kernel(self, kernel: Callable[..., object], arguments: tuple[Any, ...], results: Any) -> None:
        """Record a function that stands for one kernel; in a replay, it may read the device's values.

        Args:
            kernel: Returns tensors of the shapes of ``results``.
            arguments: Its arguments.
            results: The tensors that each replay fills.
        """
        outputs = tuple(self.bare(each) if isinstance(each, torch.Tensor) else None for each in results)
        self._append(Step(kernel, tree_map(self.bare, arguments), {}, outputs, None, False))

    def finish(self) -> None:
        """Complete the steps, and put back the states of the generators."""
        self._settle()
        for generator, state in self._states:
            generator.set_state(state)

    def _tried(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        """Run an operation to see what it returns, and put back what it writes to."""
        own = list(foresight.written(func, foresight.arguments(func, args, kwargs)))
        before = [tensor.clone() for tensor in own]
        result = func(*args, **kwargs)
        settle(func, result)
        for tensor, value in zip(own, before, strict=True):
            tensor.copy_(value)
        return result

    def _has_part_in(self, values: Any) -> bool:
        devices = {each.device if isinstance(each, torch.Tensor) else each for each in _places(values)}
        return any(each.type == self._device_type and self._is_on_captured(each) for each in devices)

    def _is_on_captured(self, device: torch.device) -> bool:
        index = -1 if device.index is None else device.index
        return bool(self._native.is_current_stream_captured(index))

    def _record(self, func: Any, args: Any, kwargs: Any, result: Any) -> None:
        if any(map(_is_pageable, _tensors(result))):
            self._native.refuse_in_capture(f"the program must wait for {func} to memory that is not pinned")
        given = {tensor.untyped_storage()._cdata for tensor in _tensors((args, kwargs))}
        outputs = []
        for value in tree_iter(result):
            new = isinstance(value, torch.Tensor) and value.untyped_storage()._cdata not in given
            outputs.append(self.bare(value) if new else None)
        writes = func._schema.is_mutable or any(output is not None for output in outputs)
        if (writes or func.namespace != "aten") and not foresight.only_allocates(func):
            take = self.bare if foresight.is_copy(func) else self._read
            bare = tree_map(take, args), tree_map(take, kwargs)
            state = self._default_state(func, result)
            self._append(Step(func, *bare, tuple(outputs), state, torch.is_grad_enabled()))

    def _read(self, value: Any) -> Any:
        """Return an argument as ``bare`` does, or the number that a kernel's launch reads on the host."""
        if isinstance(value, torch.Tensor) and value.is_cpu and not value.dim():
            return value.data.clone()
        return self.bare(value)

    def bare(self, value: Any) -> Any:
        """Return an argument as a replay passes it: memory without history, a generator's current state."""
        if isinstance(value, torch.Tensor):
            return self._native.borrow(value.data, self._pool)
        return self._registered(value) if isinstance(value, torch.Generator) else value

    def _registered(self, generator: torch.Generator) -> torch.Generator:
        if generator.device.type == self._device_type:
            if self._native.generator_state(generator) not in self._drawn_from:
                title = started().quirks.title
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

    def _append(self, step: Step) -> None:
        self._settle()
        self.steps.append(step)
        self._native.note_captured_work()

    def _settle(self) -> None:
        """Make a replay wait for the collectives before, which it begins together."""
        if self._has_begun:
            self.steps.append(Step(distributed.settle, (), {}, (None,), None, False))
            self._has_begun = False

    def _communicated(self, func: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Any:
        from morph.software import captured_works  # which imports torch.distributed

        result, work = captured_works.results(func, args, self._settle)
        self._works.append(work)
        bare = tree_map(self.bare, args), tree_map(self.bare, kwargs)
        self.steps.append(Step(func, *bare, tuple(None for _ in tree_iter(result)), None, False))
        self._has_begun = True
        self._native.note_captured_work()
        return result


def current() -> Capture | None:
    """Return the capture that the work of this thread's current stream goes into, if any."""
    modes = reversed(_get_current_dispatch_mode_stack())
    capture = next((mode for mode in modes if isinstance(mode, Capture)), None)
    is_captured = capture is not None and started().native.is_current_stream_captured()
    return capture if is_captured else None


def _tensors(values: Any) -> Iterator[torch.Tensor]:
    return (value for value in tree_iter(values) if isinstance(value, torch.Tensor))


def _places(values: Any) -> Iterator[torch.Tensor | torch.device]:
    return (value for value in tree_iter(values) if isinstance(value, torch.Tensor | torch.device))


def _has_own_dispatch(type: Any) -> bool:
    return type.__torch_dispatch__ is not torch._C._disabled_torch_dispatch_impl


def _is_pageable(tensor: torch.Tensor) -> bool:
    return tensor.is_cpu and not tensor.is_pinned()
