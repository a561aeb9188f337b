"""The functions of libnccl on the software device."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, c_int, c_size_t, c_void_p
from typing import TYPE_CHECKING, Any

import torch

from morph.kernels.libraries.callbacks import Callbacks, NullPointerError, PerThread, text
from morph.kernels.libraries.nccl.communicator_functions import (
    add_ending,
    add_groups,
    add_making,
    add_splitting,
)
from morph.kernels.libraries.nccl.communicators import view
from morph.kernels.libraries.nccl.ranks import Calls, Handles, InvalidArgument, peer_of
from morph.software.machine import is_started, started

if TYPE_CHECKING:
    from morph.backends import Backend
    from morph.kernels.libraries.loading import Loaded

WORDS = (
    "no error",
    "unhandled cuda error (run with NCCL_DEBUG=INFO for details)",
    "unhandled system error (run with NCCL_DEBUG=INFO for details)",
    "internal error - please report this issue to the NCCL developers",
    "invalid argument (run with NCCL_DEBUG=WARN for details)",
    "invalid usage (run with NCCL_DEBUG=WARN for details)",
    "remote process exited or there was a network error",
    "NCCL operation in progress",
)
BUFFERS, TAIL = (c_void_p, c_void_p, c_size_t, c_int), (c_void_p, c_void_p)  # what most functions take
CUDA_ERROR, INTERNAL, INVALID_ARGUMENT, REMOTE = 1, 3, 4, 6


def functions(library: Loaded, backend: Backend) -> Callbacks:
    """Return the functions.

    Args:
        library: libnccl.
        backend: The backend that it serves.
    """
    thread, handles = PerThread(Calls), Handles()

    def failed(name: str, error: Exception) -> int:
        thread().error = f"{name}: {error}"
        code = REMOTE if isinstance(error, RuntimeError) else INTERNAL
        code = INVALID_ARGUMENT if isinstance(error, (InvalidArgument, NullPointerError)) else code
        library.say(code, thread().error)
        return code

    calls = Callbacks(failed)
    _add_questions(calls, library, thread, handles)
    if not is_started():
        return calls
    add_groups(calls, library, thread)
    for add in (add_making, add_splitting, _add_reducing, _add_spreading, _add_messages):
        add(calls, thread, handles)
    add_ending(calls, handles)
    _add_reductions(calls, handles)
    _add_memory(calls, handles)
    return calls


def _add_questions(calls: Callbacks, library: Loaded, thread: PerThread[Calls], handles: Handles) -> None:
    @calls.serve("ncclGetVersion", takes=(POINTER(c_int),))
    def version(answer: Any) -> None:
        major, minor, patch = torch.cuda.nccl.version()[:3]  # type: ignore[no-untyped-call]
        answer[0] = major * 10000 + minor * 100 + patch

    @calls.serve("ncclGetErrorString", result=c_void_p, takes=(c_int,))
    def words_of(code: int) -> int:
        words = WORDS[code] if 0 <= code < len(WORDS) else "unknown result code"
        reason = library.reason(code) if code else ""
        return text(f"{words}: {reason}" if reason else words)

    @calls.serve("ncclGetLastError", result=c_void_p, takes=(c_void_p,))
    def last(handle: int) -> int:
        return text(thread().error)

    @calls.serve("ncclCommCount", takes=(c_void_p, POINTER(c_int)))
    def count(handle: int, answer: Any) -> None:
        answer[0] = handles.communicator(handle).size

    @calls.serve("ncclCommUserRank", takes=(c_void_p, POINTER(c_int)))
    def rank(handle: int, answer: Any) -> None:
        answer[0] = handles.communicator(handle).rank

    @calls.serve("ncclCommCuDevice", takes=(c_void_p, POINTER(c_int)))
    def device(handle: int, answer: Any) -> None:
        answer[0] = handles.communicator(handle).device

    @calls.serve("ncclCommGetAsyncError", takes=(c_void_p, POINTER(c_int)))
    def asynchronous(handle: int, answer: Any) -> None:
        handles.communicator(handle)
        answer[0] = 0


def _add_reducing(calls: Callbacks, thread: PerThread[Calls], handles: Handles) -> None:
    @calls.serve("ncclAllReduce", takes=(*BUFFERS, c_int, *TAIL))
    def all_reduce(source: int, to: int, count: int, kind: int, op: int, handle: int, stream: int) -> None:
        one, dtype = handles.typed(handle, kind)
        reduction = handles.reduction(op, dtype)
        target = view(to, count, dtype)
        thread().begin(lambda: one.all_reduce(target, view(source, count, dtype), reduction))

    @calls.serve("ncclReduce", takes=(*BUFFERS, c_int, c_int, *TAIL))
    def reduce(
        source: int, to: int, count: int, kind: int, op: int, root: int, handle: int, stream: int
    ) -> None:
        one, dtype = handles.typed(handle, kind)
        reduction, root = handles.reduction(op, dtype), peer_of(one, root)
        target = view(to, count, dtype) if one.rank == root else None
        thread().begin(lambda: one.reduce(target, view(source, count, dtype), reduction, root))

    @calls.serve("ncclReduceScatter", takes=(*BUFFERS, c_int, *TAIL))
    def reduce_scatter(
        source: int, to: int, count: int, kind: int, op: int, handle: int, stream: int
    ) -> None:
        one, dtype = handles.typed(handle, kind)
        reduction, target = handles.reduction(op, dtype), view(to, count, dtype)
        whole = view(source, count * one.size, dtype)
        thread().begin(lambda: one.reduce_scatter(target, whole, reduction))


def _add_spreading(calls: Callbacks, thread: PerThread[Calls], handles: Handles) -> None:
    @calls.serve("ncclBroadcast", takes=(*BUFFERS, c_int, *TAIL))
    def broadcast(source: int, to: int, count: int, kind: int, root: int, handle: int, stream: int) -> None:
        one, dtype = handles.typed(handle, kind)
        own = view(source, count, dtype) if one.rank == peer_of(one, root) else None
        target = view(to, count, dtype)
        thread().begin(lambda: one.broadcast(target, own, root))

    @calls.serve("ncclBcast", takes=(c_void_p, c_size_t, c_int, c_int, *TAIL))
    def bcast(buffer: int, count: int, kind: int, root: int, handle: int, stream: int) -> None:
        broadcast(buffer, buffer, count, kind, root, handle, stream)

    @calls.serve("ncclAllGather", takes=(*BUFFERS, *TAIL))
    def all_gather(source: int, to: int, count: int, kind: int, handle: int, stream: int) -> None:
        one, dtype = handles.typed(handle, kind)
        target = view(to, count * one.size, dtype)
        thread().begin(lambda: one.all_gather(target, view(source, count, dtype)))

    @calls.serve("ncclAlltoAll", takes=(*BUFFERS, *TAIL))
    def exchange(source: int, to: int, count: int, kind: int, handle: int, stream: int) -> None:
        one, dtype = handles.typed(handle, kind)
        whole = count * one.size
        target = view(to, whole, dtype)
        thread().begin(lambda: one.exchange(target, view(source, whole, dtype)))

    @calls.serve("ncclGather", takes=(*BUFFERS, c_int, *TAIL))
    def gather(source: int, to: int, count: int, kind: int, root: int, handle: int, stream: int) -> None:
        one, dtype = handles.typed(handle, kind)
        target = view(to, count * one.size, dtype) if one.rank == peer_of(one, root) else None
        thread().begin(lambda: one.gather(target, view(source, count, dtype), root))

    @calls.serve("ncclScatter", takes=(*BUFFERS, c_int, *TAIL))
    def scatter(source: int, to: int, count: int, kind: int, root: int, handle: int, stream: int) -> None:
        one, dtype = handles.typed(handle, kind)
        own = view(source, count * one.size, dtype) if one.rank == peer_of(one, root) else None
        target = view(to, count, dtype)
        thread().begin(lambda: one.scatter(target, own, root))


def _add_messages(calls: Callbacks, thread: PerThread[Calls], handles: Handles) -> None:
    @calls.serve("ncclSend", takes=(c_void_p, c_size_t, c_int, c_int, *TAIL))
    def send(source: int, count: int, kind: int, peer: int, handle: int, stream: int) -> None:
        one, dtype = handles.typed(handle, kind)
        peer = peer_of(one, peer)
        thread().begin(lambda: one.send(view(source, count, dtype), peer))

    @calls.serve("ncclRecv", takes=(c_void_p, c_size_t, c_int, c_int, *TAIL))
    def receive(to: int, count: int, kind: int, peer: int, handle: int, stream: int) -> None:
        one, dtype = handles.typed(handle, kind)
        peer = peer_of(one, peer)
        target = view(to, count, dtype)
        thread().begin(lambda: one.receive(target, peer))


def _add_reductions(calls: Callbacks, handles: Handles) -> None:
    @calls.serve("ncclRedOpCreatePreMulSum", takes=(POINTER(c_int), c_void_p, c_int, c_int, c_void_p))
    def create(answer: Any, scalar: int, kind: int, place: int, handle: int) -> None:
        _, dtype = handles.typed(handle, kind)
        answer[0] = handles.add_factor(view(scalar, 1, dtype).item())

    @calls.serve("ncclRedOpDestroy", takes=(c_int, c_void_p))
    def destroy(op: int, handle: int) -> None:
        handles.drop_factor(op)


def _add_memory(calls: Callbacks, handles: Handles) -> None:
    functions = started().native.interface()
    take = ctypes.CFUNCTYPE(c_void_p, c_int, c_size_t)(functions["take"])
    give_back = ctypes.CFUNCTYPE(c_int, c_void_p)(functions["give_back"])

    @calls.serve("ncclMemAlloc", takes=(POINTER(c_void_p), c_size_t))
    def allocate(answer: Any, size: int) -> int:
        answer[0] = take(torch.cuda.current_device(), size)
        return 0 if answer[0] else CUDA_ERROR

    @calls.serve("ncclMemFree", takes=(c_void_p,))
    def free(pointer: int | None) -> int:
        return INVALID_ARGUMENT if pointer and give_back(pointer) else 0

    @calls.serve("ncclCommRegister", takes=(c_void_p, c_void_p, c_size_t, POINTER(c_void_p)))
    def register(handle: int, buffer: int, size: int, answer: Any) -> None:
        handles.communicator(handle)
        answer[0] = buffer

    @calls.serve("ncclCommWindowRegister", takes=(c_void_p, c_void_p, c_size_t, POINTER(c_void_p), c_int))
    def register_window(handle: int, buffer: int, size: int, answer: Any, flags: int) -> None:
        register(handle, buffer, size, answer)
