"""Collectives over a PJRT plug-in that is not libtpu, whose processes do not reach each other: gloo's."""

from __future__ import annotations

import contextlib
import functools
import os
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from morph.base.announcement import report
from morph.base.journal import Journal
from morph.software import distributed

NAME = "tpu_dist"
KEY = "PrivateUse1"
PEER_TO_PEER = ("c10d::send", "c10d::recv_", "c10d::recv_any_source_")
HOST = torch.device("cpu")
NO_TIMEOUT = timedelta(0)


def serve(journal: Journal) -> None:
    """Have ``tpu_dist`` groups, and all collectives of a TPU's tensors, run by gloo on copies on the host.

    Args:
        journal: Records what changes.
    """
    if not dist.is_available() or not dist.is_gloo_available():
        return
    backends: Any = dist.Backend
    plugin = backends._BackendPlugin(creator_fn=_create, extended_api=False)
    journal.set_item(backends._plugins, NAME.upper(), plugin)
    for name, wrapper in (("_start_coalescing", _start_coalescing), ("_end_coalescing", _end_coalescing)):
        original = getattr(dist.ProcessGroup, name)
        journal.set_attribute(dist.ProcessGroup, name, _bound(wrapper, original))
    library: Any = torch.library.Library("c10d", "IMPL")  # type: ignore[no-untyped-call]
    journal.on_undo(library._destroy)
    for name in torch._C._dispatch_get_registrations_for_dispatch_key(KEY):
        if name.startswith("c10d::"):
            operator = getattr(torch.ops.c10d, name.removeprefix("c10d::")).default
            library.impl(operator, functools.partial(_on_host, operator), KEY, allow_override=True)


def _bound(wrapper: Callable[..., Any], original: Callable[..., Any]) -> Callable[..., Any]:
    return lambda group, device: wrapper(original, group, device)


@contextlib.contextmanager
def alone() -> Iterator[None]:
    """Hide from torch_tpu, while it is loaded, that a launcher has started other processes.

    Its runtime would look for them, and reads so at its start: that is in this block where there are others,
    and else left to the first use of the device, before which a process may fork.
    """
    hidden = {name: os.environ.pop(name) for name in ("RANK", "WORLD_SIZE") if name in os.environ}
    try:
        yield
        if hidden:
            torch.ones(1, device="tpu")
    finally:
        os.environ.update(hidden)


def _create(store: Any, rank: int, size: int, timeout: timedelta) -> Any:
    _say()
    return distributed.over(distributed.gloo(store, rank, size, timeout), NAME, None)


@functools.cache
def _say() -> None:
    report("this PJRT plug-in is not libtpu: collectives run on the host, by gloo")


class _Work(dist.Work):
    """A collective of copies, which brings its results to the device when it is waited for."""

    def __init__(self, inner: Any, source: Any, target: Any) -> None:
        super().__init__()
        self.inner, self.source, self.target = inner, source, target

    def wait(self, timeout: timedelta = NO_TIMEOUT) -> bool:
        """Wait for the collective, and copy its results."""
        self.inner.wait()
        with torch.no_grad():
            _copy_back(self.source, self.target)
        _waiting.discard(self)
        return True


_waiting: set[_Work] = set()  # torch's core holds the C++ part of a work alone
_coalesced: list[_Work] | None = None  # those that were begun since a group started to coalesce


def _on_host(operator: Any, written: Any, *arguments: Any) -> Any:
    """Run a collective on copies of its tensors, of which it writes its first argument."""
    _take_copies(next(each for each in arguments if isinstance(each, torch.ScriptObject)))
    on_host = _copied(written)
    given = (written if argument is written else _copied(argument) for argument in arguments)
    returned = operator(on_host, *given)
    inner = returned[-1] if isinstance(returned, tuple) else returned
    work = _begun(_Work(inner, on_host, written), is_ended=operator.name() not in PEER_TO_PEER)
    return (written, work) if isinstance(returned, tuple) else work


def _take_copies(group: Any) -> None:
    """Have a process group's backend serve tensors of the host too."""
    opened: Any = dist.ProcessGroup.unbox(group)
    if HOST not in opened._device_types:
        kind = dist.ProcessGroup.BackendType.CUSTOM
        opened._register_backend(HOST, kind, opened._get_backend(torch.device("tpu")))


def _begun(work: _Work, *, is_ended: bool) -> Any:
    """Return the C++ part of a work, after its end if that depends on no later call of this process."""
    if _coalesced is not None:
        _coalesced.append(work)
    elif is_ended:
        work.wait()
        return work.inner
    _waiting.add(work)
    return work.boxed()


def _start_coalescing(start: Callable[..., None], group: Any, device: torch.device) -> None:
    global _coalesced
    _coalesced = []
    start(group, device)


def _end_coalescing(end: Callable[..., Any], group: Any, device: torch.device) -> _Work:
    """Return one work for the collectives that were begun together."""
    global _coalesced
    parts, _coalesced = _coalesced or [], None
    _waiting.difference_update(parts)
    return _Work(end(group, device), [part.source for part in parts], [part.target for part in parts])


def _copied(argument: Any) -> Any:
    if isinstance(argument, (list, tuple)):
        return [_copied(each) for each in argument]
    return argument.detach().cpu() if isinstance(argument, torch.Tensor) else argument


def _copy_back(source: Any, target: Any) -> None:
    if isinstance(target, torch.Tensor):
        target.copy_(source)
        return
    for each, place in zip(source, target, strict=True):
        _copy_back(each, place)
