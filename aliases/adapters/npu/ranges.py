"""``torch.cuda.nvtx``'s nested ranges on Ascend's profiler annotations."""

from __future__ import annotations

import threading

from morph.backends import vendor_module


class _Open(threading.local):
    """The numbers of a thread's open ranges, where torch_npu does not keep them itself."""

    def __init__(self) -> None:
        self.numbers: list[int] = []


_open = _Open()


def range_push(msg: str) -> int:
    """Implement ``torch.cuda.nvtx.range_push``.

    Args:
        msg: The message; torch_npu rejects an empty one, and gets a space.

    Returns:
        The depth of the range, from 0.
    """
    mstx = vendor_module().mstx
    if hasattr(mstx, "range_push"):  # torch_npu 2.8.0 and 2.9.1 have none
        return int(mstx.range_push(msg or " "))
    _open.numbers.append(mstx.range_start(msg or " "))
    return len(_open.numbers) - 1


def range_pop() -> int:
    """Implement ``torch.cuda.nvtx.range_pop``.

    Returns:
        The depth of the range that ends, from 0; negative if none is open.
    """
    mstx = vendor_module().mstx
    if hasattr(mstx, "range_pop"):
        return int(mstx.range_pop())
    if not _open.numbers:
        return -1
    mstx.range_end(_open.numbers.pop())
    return len(_open.numbers)
