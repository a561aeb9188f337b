"""Streams, events and graphs."""

import threading
import time

import torch

from idiom import refusal


def stream_is_a_stream():
    stream = torch.cuda.Stream()
    assert isinstance(stream, torch.cuda.Stream) and isinstance(stream, torch.Stream)


def stream_in_a_block():
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert torch.cuda.current_stream() == stream
    assert torch.cuda.current_stream() != stream


def no_stream_in_a_block_changes_nothing():
    before = torch.cuda.current_stream()
    with torch.cuda.stream(None):
        assert torch.cuda.current_stream() == before


def stream_is_a_context():
    stream = torch.cuda.Stream()
    with stream:
        assert torch.cuda.current_stream() == stream


def stream_is_set():
    before, stream = torch.cuda.current_stream(), torch.cuda.Stream()
    torch.cuda.set_stream(stream)
    try:
        assert torch.cuda.current_stream() == stream
    finally:
        torch.cuda.set_stream(before)


def stream_of_the_second_device():
    assert torch.cuda.Stream(1).device == torch.device("cuda:1")
    assert torch.cuda.current_stream(1).device.index == 1


def stream_sets_its_device_in_a_block():
    with torch.cuda.stream(torch.cuda.Stream(device=1)):
        assert torch.cuda.current_device() == 1


def stream_with_priority():
    least, greatest = torch.cuda.Stream.priority_range()
    assert greatest <= torch.cuda.Stream(priority=-1).priority <= least


def stream_waits_for_a_stream():
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        x = torch.ones(3, device="cuda") * 2
    torch.cuda.current_stream().wait_stream(stream)
    assert x.sum().item() == 6


def stream_waits_for_an_event():
    stream = torch.cuda.Stream()
    event = torch.cuda.current_stream().record_event()
    stream.wait_event(event)
    stream.synchronize()
    assert event.query()


def stream_records_an_event():
    event = torch.cuda.Stream().record_event(torch.cuda.Event())
    event.synchronize()
    assert isinstance(event, torch.cuda.Event)


def stream_is_done():
    stream = torch.cuda.Stream()
    stream.synchronize()
    assert stream.query() is True


def stream_has_an_identity():
    stream = torch.cuda.Stream()
    assert isinstance(stream.stream_id, int) and stream.device_index == 0


def stream_is_a_key():
    stream = torch.cuda.Stream()
    assert {stream: 1}[stream] == 1 and hash(stream) == hash(stream)


def stream_from_outside():
    stream = torch.cuda.ExternalStream(torch.cuda.Stream().cuda_stream)
    with torch.cuda.stream(stream):
        assert torch.ones(1, device="cuda").item() == 1


def stream_is_subclassed():
    class Named(torch.cuda.Stream):
        pass

    with torch.cuda.stream(Named()):
        assert isinstance(torch.cuda.current_stream(), torch.cuda.Stream)


def event_in_a_stream():
    event = torch.cuda.Event()
    event.record()
    event.wait()
    event.synchronize()
    assert event.query()


def event_of_a_stream():
    stream = torch.cuda.Stream()
    event = torch.cuda.Event(enable_timing=False, blocking=True, interprocess=False)
    event.record(stream)
    event.wait(torch.cuda.current_stream())
    stream.synchronize()
    assert event.query()


def events_measure_time():
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    torch.cuda.synchronize()
    time.sleep(0.02)
    end.record()
    torch.cuda.synchronize()
    assert 15 < start.elapsed_time(end) < 5000


def events_order_time():
    events = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
    for event in events:
        event.record()
        torch.ones(100, device="cuda").sum().item()
    torch.cuda.synchronize()
    assert events[0].elapsed_time(events[2]) >= events[0].elapsed_time(events[1]) >= 0


def events_without_timing_do_not_measure():
    start, end = torch.cuda.Event(), torch.cuda.Event()
    start.record()
    end.record()
    torch.cuda.synchronize()
    assert refusal(lambda: start.elapsed_time(end), RuntimeError, ValueError)


def event_is_subclassed():
    class Named(torch.cuda.Event):
        pass

    event = Named(enable_timing=True)
    event.record()
    assert isinstance(event, torch.cuda.Event)


def event_of_torch():
    event = torch.Event(device="cuda", enable_timing=True)
    event.record()
    event.synchronize()
    assert event.device.type == "cuda"


def event_has_a_handle():
    event = torch.cuda.Event()
    event.record()
    assert isinstance(event.cuda_event, int)


def synchronize_a_device():
    torch.cuda.synchronize(0)
    torch.cuda.synchronize("cuda:0")
    assert torch.cuda.synchronize(device=torch.device("cuda")) is None


def threads_have_their_own_current_stream():
    streams = []
    with torch.cuda.stream(torch.cuda.Stream()):
        thread = threading.Thread(target=lambda: streams.append(torch.cuda.current_stream()))
        thread.start()
        thread.join()
    assert streams == [torch.cuda.default_stream()]


def graph_replays():
    x, y = torch.ones(3, device="cuda"), torch.zeros(3, device="cuda")
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        y.copy_(x * 2)
    torch.cuda.current_stream().wait_stream(stream)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        y.copy_(x * 2)
    x.fill_(5)
    graph.replay()
    assert y.tolist() == [10, 10, 10]


def graph_of_a_module():
    module = torch.nn.Linear(2, 2).cuda()
    graphed = torch.cuda.make_graphed_callables(module, (torch.ones(1, 2, device="cuda"),))
    assert graphed(torch.zeros(1, 2, device="cuda")).tolist() == [module.bias.tolist()]


EXPRESSIONS = {
    "tensor_is_recorded": lambda: torch.ones(3, device="cuda").record_stream(torch.cuda.Stream()) is None,
    "current_stream_is_the_default": lambda: torch.cuda.current_stream() == torch.cuda.default_stream(),
    "stream_of_a_device": lambda: torch.cuda.Stream(device="cuda:0").device == torch.device("cuda:0"),
    "stream_has_a_handle": lambda: isinstance(torch.cuda.current_stream().cuda_stream, int),
    "stream_is_printed": lambda: "Stream" in repr(torch.cuda.Stream()),
    "stream_or_none_is_a_type": lambda: isinstance(torch.cuda.Stream(), torch.cuda.Stream | None),
    "stream_of_torch": lambda: torch.Stream(device="cuda").device.type == "cuda",
    "stream_of_torch_by_position": lambda: torch.Stream("cuda:0").device == torch.device("cuda:0"),
    "stream_of_the_accelerator": lambda: torch.accelerator.current_stream().device.type == "cuda",
    "event_that_was_not_recorded_is_done": lambda: torch.cuda.Event().query(),
    "synchronize": lambda: torch.cuda.synchronize() is None,
    "synchronize_the_accelerator": lambda: torch.accelerator.synchronize() is None,
    "nothing_is_captured": lambda: torch.cuda.is_current_stream_capturing() is False,
    "pool_of_graphs": lambda: torch.cuda.graph_pool_handle() is not None,
}
