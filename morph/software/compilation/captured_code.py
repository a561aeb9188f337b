"""Compiled code in a capture: one step, which runs the code again, but not the functions that it calls."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, NamedTuple

import torch
from torch.utils._python_dispatch import _disable_current_modes
from torch.utils._pytree import tree_leaves, tree_map

from morph.software import pools, steps
from morph.software.capture import Capture
from morph.software.machine import started
from morph.software.steps import Step

Caller = Callable[[Callable[..., Any], tuple[Any, ...], dict[str, Any], bool], Any]


class _Running(threading.local):
    caller: Caller | None = None


_running = _Running()


def call(function: Any, arguments: tuple[Any, ...], options: dict[str, Any], writes: bool) -> Any:
    """Call an operator as compiled code does: in a capture it is captured, and in a replay it is replayed.

    Args:
        function: The operator.
        arguments: Its arguments, with tensors of the device.
        options: The others.
        writes: Whether it writes to them.
    """
    if _running.caller is None:
        return function(*arguments, **options)
    return _running.caller(function, arguments, options, writes)


def capture(code: Any, inputs: list[Any], written: Sequence[int], draws_on: int | None, into: Capture) -> Any:
    """Run compiled code once, to see what it returns, and add it to a capture.

    Args:
        code: The code, which takes and returns tensors of the device or, by its ``run``, of the host.
        inputs: What it takes; the list is emptied.
        written: The places of the inputs that it writes to; they are put back.
        draws_on: The device whose default generator it draws from, if any.
        into: The capture.
    """
    host = started().native.host_tensor
    hosts = [host(into.bare(each)) for each in inputs]
    before = [(hosts[place], hosts[place].clone()) for place in written]
    recorder = _Recorder(into)
    with _disable_current_modes():
        with _calling(recorder):
            results = code(inputs)
        for tensor, value in before:
            tensor.copy_(value)
        outputs = [host(into.bare(each)) for each in results]
    into.add(_Replay(code, hosts, outputs, recorder.calls), draws_on)
    return results


class _Call(NamedTuple):
    """One call of an operator: its steps, with the arguments and the results that they read and fill."""

    arguments: Any
    steps: list[Step]
    results: Any


class _Recorder:
    """Captures the calls of the code, and computes them too, since the code goes on with the results."""

    def __init__(self, into: Capture) -> None:
        self.calls: list[_Call] = []
        self._into = into

    def __call__(self, function: Any, arguments: Any, options: Any, writes: bool) -> Any:
        bare = tree_map(self._into.bare, (arguments, options))
        with self._into.apart() as captured:
            results = function(*arguments, **options)
        # in the graph's pool, what passes between the steps is free memory
        with pools.use_mem_pool(pools.MemPool()):
            steps.replay(captured)
        self.calls.append(_Call(bare, captured, tree_map(self._into.bare, results)))
        return results


class _Replay:
    """Runs the code on the memory that it was captured with."""

    def __init__(self, code: Any, hosts: list[Any], outputs: list[Any], calls: list[_Call]) -> None:
        self._code, self._hosts, self._outputs, self._calls = code, hosts, outputs, calls

    def __call__(self) -> None:
        with _calling(_Player(iter(self._calls))):
            results = self._code.run(list(self._hosts))
        for output, value in zip(self._outputs, results, strict=True):
            if isinstance(output, torch.Tensor):
                _copy(output, value)


class _Player:
    """Replays the calls, which the code makes in the order of the capture."""

    def __init__(self, calls: Iterator[_Call]) -> None:
        self._calls = calls

    def __call__(self, function: Any, arguments: Any, options: Any, writes: bool) -> Any:
        recorded = next(self._calls)
        leaves = zip(tree_leaves(recorded.arguments), tree_leaves((arguments, options)), strict=True)
        pairs = [pair for pair in leaves if isinstance(pair[0], torch.Tensor)]
        for mine, given in pairs:
            _copy(mine, given)
        steps.replay(recorded.steps)
        for mine, given in pairs if writes else ():
            _copy(given, mine)
        return recorded.results


def _copy(target: torch.Tensor, source: torch.Tensor) -> None:
    if target.data_ptr() != source.data_ptr():
        target.copy_(source)


@contextmanager
def _calling(caller: Caller) -> Iterator[None]:
    before, _running.caller = _running.caller, caller
    try:
        yield
    finally:
        _running.caller = before
