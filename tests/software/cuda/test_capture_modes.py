"""What a capture's mode forbids, in its own thread and in others, and what it forbids and goes on."""

import threading
from collections.abc import Callable

import pytest
import torch

from tests.platforms import Platform
from tests.software.cuda.capturing import captured, refused


def test_copies_of_memory_that_is_not_pinned_are_refused_and_the_capture_goes_on() -> None:
    value, host = torch.ones(3, device="cuda"), torch.ones(3)
    copies = [value.tolist, value.cpu, lambda: host.to("cuda", non_blocking=True), lambda: value.copy_(host)]
    copies += [lambda: host.copy_(value), lambda: torch.tensor([1.0], device="cuda"), value.long().bincount]

    def work() -> torch.Tensor:
        for copy in copies:
            with pytest.raises(RuntimeError, match="^Cannot copy between CPU and CUDA tensors during"):
                copy()
        return value + 1

    graph, result = captured(work)
    graph.replay()
    assert result.tolist() == [2, 2, 2]


def test_a_number_is_written_by_a_mask_without_a_wait() -> None:
    value = torch.ones(3, device="cuda")
    graph, _ = captured(lambda: value.__setitem__(value > 0, 5))
    assert value.tolist() == [1, 1, 1]
    graph.replay()
    assert value.tolist() == [5, 5, 5]


@pytest.mark.parametrize("mode", ["global", "thread_local", "relaxed"])
def test_other_threads_wait_for_a_device_only_without_a_capture(mode: str) -> None:
    value = torch.ones(3, device="cuda")
    own: list[str] = []

    def other(call: Callable[[], object]) -> None:
        try:
            call()
            own.append("")
        except RuntimeError as error:
            own.append(str(error).splitlines()[0])

    def work() -> None:
        for call in (value.sum, lambda: value.max().item(), torch.cuda.synchronize):
            thread = threading.Thread(target=other, args=(call,))
            thread.start()
            thread.join()

    with torch.cuda.stream(torch.cuda.current_stream()), pytest.raises(RuntimeError, match="previous error"):
        captured(work, capture_error_mode=mode)
    refusal = "CUDA error: operation not permitted when stream is capturing"
    assert own == ["", refusal if mode == "global" else "", refusal]


def test_memory_is_taken_from_the_driver_by_captured_streams_alone() -> None:
    def outside() -> None:
        with torch.cuda.stream(torch.cuda.Stream()):
            torch.empty(64 << 20, device="cuda", dtype=torch.uint8)

    assert "operation not permitted when stream is capturing" in refused(outside)
    graph, _ = captured(lambda: torch.zeros(64 << 20, device="cuda", dtype=torch.uint8))
    graph.replay()


def test_a_capture_asks_no_event_of_before_unless_it_is_relaxed() -> None:
    before = torch.cuda.Event()
    before.record()
    assert "operation not permitted when stream is capturing" in refused(before.query)
    side = torch.cuda.Stream()
    with torch.cuda.graph(torch.cuda.CUDAGraph(), stream=side, capture_error_mode="relaxed"):
        torch.ones(1, device="cuda")
        assert before.query()


HANDLES = """
import os, threading, torch
x = torch.ones(2, 2, device="cuda")

def captured(mode="global"):
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, capture_error_mode=mode):
        product = x @ x
    graph.replay()
    return product.tolist()

def refused(mode="global"):
    try:
        captured(mode)
    except RuntimeError as error:
        return str(error.__context__), str(error).splitlines()[0]

def in_thread(call):
    results = []
    thread = threading.Thread(target=lambda: results.append(call()))
    thread.start()
    thread.join()
    while os.path.exists(f"/proc/self/task/{thread.native_id}"):
        pass  # it gives its handle back at its very end
    return results[0]

for mode in ("global", "thread_local"):
    first, last = refused(mode)
    assert first == "CUDA error: CUBLAS_STATUS_NOT_INITIALIZED when calling `cublasCreate(handle)`", first
    assert last == "CUDA error: operation failed due to a previous error during capture", last
assert in_thread(lambda: captured("relaxed")) == [[2, 2], [2, 2]]
assert captured() == [[2, 2], [2, 2]], "the handle of the thread that has ended"
assert in_thread(refused), "this thread's handle is not another's"
"""


@pytest.mark.platforms("cpu")
def test_the_first_product_of_a_thread_is_not_captured(platform: Platform) -> None:
    assert platform.run(HANDLES).returncode == 0
