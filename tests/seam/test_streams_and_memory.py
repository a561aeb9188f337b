"""Streams, events, pinned memory, threads and forks."""

from __future__ import annotations

import threading

import pytest
import torch

pytestmark = [
    pytest.mark.platforms("simulated-npu", "npu", "simulated-xpu"),
    pytest.mark.usefixtures("engaged"),
]


def test_streams_become_current() -> None:
    stream = torch.Stream(device="cuda")
    with stream:
        assert torch.accelerator.current_stream() == stream
        made = torch.ones(2, device="cuda") + 1
    assert torch.accelerator.current_stream() != stream
    stream.wait_stream(torch.accelerator.current_stream())
    made.record_stream(stream)
    stream.synchronize()
    assert stream.query()


def test_events_take_streams_and_time() -> None:
    start, end = (torch.Event("cuda", enable_timing=True) for _ in range(2))
    stream = torch.Stream(device="cuda")
    start.record(stream)
    stream.wait_event(start)
    end.record(stream)
    end.synchronize()
    assert end.query()
    assert start.elapsed_time(end) >= 0


def test_the_accelerator_is_the_target(device_type: str) -> None:
    accelerator = torch.accelerator.current_accelerator()
    assert accelerator is not None
    assert accelerator.type == device_type
    assert torch.accelerator.device_count() == 2
    torch.accelerator.set_device_index(0)
    assert torch.accelerator.current_device_index() == 0
    torch.accelerator.synchronize()


def test_pinned_memory_knows_itself() -> None:
    pinned = torch.ones(2).pin_memory()
    assert pinned.is_pinned()
    assert pinned[1:].is_pinned()
    assert torch.zeros(3, pin_memory=True).is_pinned()
    assert not torch.ones(2).is_pinned()
    assert pinned.cuda(non_blocking=True).sum().item() == 2


@pytest.mark.parametrize("workers", [0, 1])
def test_a_loader_pins_its_batches(workers: int) -> None:
    dataset = torch.utils.data.TensorDataset(torch.ones(4, 2))
    loader = torch.utils.data.DataLoader(dataset, batch_size=2, pin_memory=True, num_workers=workers)
    assert [batch.is_pinned() for (batch,) in loader] == [True, True]


def test_threads_train_at_once() -> None:
    gradients = []

    def train() -> None:
        for _ in range(50):
            leaf = torch.ones(2, device="cuda", requires_grad=True)
            (leaf.to("cuda") * 2).sum().backward()
            gradients.append(leaf.grad)

    threads = [threading.Thread(target=train) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(gradient is not None and gradient.is_cuda for gradient in gradients)
    assert len(gradients) == 200
