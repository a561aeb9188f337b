"""Starts the processes of a program: `ranks.run(4, function)` has each call `function(rank, size)`."""

import multiprocessing
import os
import sys
import tempfile
import traceback
from collections.abc import Callable

import torch
import torch.distributed as dist


def run(size: int, work: Callable[[int, int], object], backend: str = "nccl") -> None:
    """Calls `work` in `size` processes, each on its own device; exits this one if one of them fails."""
    context = multiprocessing.get_context("fork")  # CUDA is not in use here yet, and fork is much the fastest
    with tempfile.TemporaryDirectory() as folder:
        places = [(rank, size, f"file://{folder}/store", backend, work) for rank in range(size)]
        processes = [context.Process(target=_begin, args=place) for place in places]
        for process in processes:
            process.start()
        for process in processes:
            process.join()
    if any(process.exitcode for process in processes):
        sys.exit(f"exit statuses {[process.exitcode for process in processes]}")


def _begin(rank: int, size: int, store: str, backend: str, work: Callable[[int, int], object]) -> None:
    try:
        torch.cuda.set_device(rank)
        dist.init_process_group(backend, init_method=store, rank=rank, world_size=size)
        work(rank, size)
        dist.barrier()
        dist.destroy_process_group()
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
        os._exit(1)  # the other processes may be waiting for this one


def same(found: object, expected: object, what: str) -> None:
    """Checks that `found`, a tensor or a list, is on this process's device and equals `expected`."""
    if isinstance(found, list):
        for one, other in zip(found, expected, strict=True):  # type: ignore[call-overload]
            same(one, other, what)
        return
    assert isinstance(found, torch.Tensor)
    assert isinstance(expected, torch.Tensor)
    assert found.device == torch.device("cuda", torch.cuda.current_device()), (what, found.device)
    assert found.dtype == expected.dtype, (what, found.dtype, expected.dtype)
    torch.testing.assert_close(found.cpu(), expected, msg=lambda text: f"{what}: {text}")
