"""Pieces of programs that lack a wait, ``wrong_...``, each beside its right twin, ``right_...``.

Most are what the pages "CUDA semantics" and "Stream" of PyTorch's documentation warn of.
"""

import torch
import torch.distributed as dist

DEVICE = torch.device("cuda")
SIDE, OTHER = torch.cuda.Stream(), torch.cuda.Stream()
SIZE = 5000


def main_stream():
    return torch.cuda.current_stream()


def ones(**options):
    return torch.ones(SIZE, device=DEVICE, **options)


def wrong_input_of_another_stream():
    x = ones()
    with torch.cuda.stream(SIDE):
        x.sum()


def right_input_of_another_stream():
    x = ones()
    SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        x.sum()


def wrong_result_of_another_stream():
    with torch.cuda.stream(SIDE):
        y = ones()
    return y + 1


def right_result_of_another_stream():
    with torch.cuda.stream(SIDE):
        y = ones()
    main_stream().wait_stream(SIDE)
    return y + 1


def wrong_event_before_the_work():
    with torch.cuda.stream(SIDE):
        done = SIDE.record_event()
        y = ones()
    main_stream().wait_event(done)
    return y + 1


def right_event_before_the_work():
    with torch.cuda.stream(SIDE):
        y = ones()
        done = SIDE.record_event()
    main_stream().wait_event(done)
    return y + 1


def wrong_wait_for_one_of_two():
    with torch.cuda.stream(SIDE):
        one = ones()
    with torch.cuda.stream(OTHER):
        two = ones()
    main_stream().wait_stream(SIDE)
    return one + two


def right_wait_for_one_of_two():
    with torch.cuda.stream(SIDE):
        one = ones()
    with torch.cuda.stream(OTHER):
        two = ones()
        OTHER.wait_stream(SIDE)
    main_stream().wait_stream(OTHER)  # and so for both
    return one + two


def wrong_item_of_another_stream():
    with torch.cuda.stream(SIDE):
        y = ones().sum()
    return y.item()


def right_item_of_another_stream():
    with torch.cuda.stream(SIDE):
        y = ones().sum()
        return y.item()


def wrong_change_while_it_is_read():
    x = ones()
    SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        x.sum()
    x.zero_()


def right_change_while_it_is_read():
    x = ones()
    SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        x.sum()
    x.sum()  # two may read
    torch.cuda.synchronize()
    x.zero_()


def wrong_parts_that_overlap():
    x = ones()
    SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        x[: SIZE // 2 + 1].add_(1)
    x[SIZE // 2 :].add_(1)


def right_parts_that_overlap():
    x = ones().view(-1, 2)
    SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        x[:50, 0].add_(1)
        x[100:].add_(1)
    x[:50, 1].add_(1)
    x[50:100].add_(1)


def wrong_list_of_parameters():
    weights = [ones() for _ in range(3)]
    SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        torch._foreach_mul_(weights, 0.5)
    return weights[2].sum()


def right_list_of_parameters():
    weights, factors = [ones() for _ in range(3)], [ones() for _ in range(3)]
    SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        torch._foreach_mul_(weights, factors)
    return factors[2].sum()


def wrong_gradients_of_a_backward_pass():
    x = ones(requires_grad=True)
    SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        (x * 2).sum().backward()
    return x.grad + 1


def right_gradients_of_a_backward_pass():
    x = ones(requires_grad=True)
    SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        (x * 2).sum().backward()
    main_stream().wait_stream(SIDE)
    return x.grad + 1


def wrong_memory_given_back():
    x = ones()
    SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        x.sum()
    del x
    return ones()


def right_memory_given_back():
    x = ones()
    SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        x.sum()
    x.record_stream(SIDE)
    del x
    return ones()


def wrong_input_of_a_graph():
    x, graph = ones(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        y = x * 2
    with torch.cuda.stream(SIDE):
        x.fill_(3)
    graph.replay()
    return y


def right_input_of_a_graph():
    x, graph = ones(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        y = x * 2
    with torch.cuda.stream(SIDE):
        x.fill_(3)
    main_stream().wait_stream(SIDE)
    graph.replay()
    assert y.mean().item() == 6


def wrong_copy_that_is_read():
    x = ones()
    return x.to("cpu", non_blocking=True).sum().item()


def right_copy_that_is_read():
    x = ones()
    host = x.to("cpu", non_blocking=True)
    main_stream().synchronize()
    assert host.sum().item() == SIZE


def wrong_copy_that_numpy_reads():
    host = torch.empty(SIZE, pin_memory=True)
    host.copy_(ones(), non_blocking=True)
    return float(host.numpy()[3])


def right_copy_that_numpy_reads():
    host = torch.empty(SIZE, pin_memory=True)
    host.copy_(ones(), non_blocking=True)
    done = torch.cuda.Event()
    done.record()
    done.synchronize()
    assert float(host.numpy()[3]) == 1


def wrong_synchronization_of_another_stream():
    host = torch.empty(SIZE, pin_memory=True)
    with torch.cuda.stream(SIDE):
        host.copy_(ones(), non_blocking=True)
    main_stream().synchronize()
    return host.sum()


def right_synchronization_of_another_stream():
    host = torch.empty(SIZE, pin_memory=True)
    with torch.cuda.stream(SIDE):
        host.copy_(ones(), non_blocking=True)
        done = SIDE.record_event()
    main_stream().wait_event(done)
    main_stream().synchronize()
    return host.sum()


def wrong_buffer_that_is_filled_again():
    buffer = torch.ones(SIZE).pin_memory()
    buffer.to(DEVICE, non_blocking=True)
    buffer.fill_(2)


def right_buffer_that_is_filled_again():
    buffer = torch.ones(SIZE).pin_memory()
    x = buffer.to(DEVICE, non_blocking=True)
    buffer.sum()
    assert x.sum().item() == SIZE
    buffer.fill_(2)


def wrong_buffer_of_two_copies():
    host, x = torch.empty(SIZE, pin_memory=True), ones()
    host.copy_(x, non_blocking=True)
    with torch.cuda.stream(SIDE):
        host.to(DEVICE, non_blocking=True)


def right_buffer_of_two_copies():  # both read it, and the host waits for the second only to read it too
    host = torch.ones(SIZE).pin_memory()
    host.to(DEVICE, non_blocking=True)
    with torch.cuda.stream(SIDE):
        host.to(DEVICE, non_blocking=True)
    host.sum()


def wrong_buffer_that_another_stream_reads():
    host = torch.ones(SIZE).pin_memory()
    host.to(DEVICE, non_blocking=True)
    with torch.cuda.stream(SIDE):
        host.to(DEVICE, non_blocking=True)
    SIDE.synchronize()
    host.fill_(2)


def right_buffer_that_another_stream_reads():
    host = torch.ones(SIZE).pin_memory()
    host.to(DEVICE, non_blocking=True)
    with torch.cuda.stream(SIDE):
        host.to(DEVICE, non_blocking=True)
    torch.cuda.synchronize()
    host.fill_(2)


def wrong_buffer_of_two_streams():
    host, x = torch.empty(SIZE, pin_memory=True), ones()
    SIDE.wait_stream(main_stream())
    host.copy_(x, non_blocking=True)
    with torch.cuda.stream(SIDE):
        host.copy_(x, non_blocking=True)


def right_buffer_of_two_streams():
    host, x = torch.empty(2, SIZE, pin_memory=True), ones()
    SIDE.wait_stream(main_stream())
    host[0].copy_(x, non_blocking=True)
    with torch.cuda.stream(SIDE):
        host[1].copy_(x, non_blocking=True)
    torch.cuda.synchronize()
    assert host.sum().item() == 2 * SIZE


def wrong_batches_fetched_ahead():
    return fetched_ahead(waits=False)


def right_batches_fetched_ahead():
    return fetched_ahead(waits=True)


def fetched_ahead(waits):
    loader = torch.utils.data.DataLoader(torch.ones(8, SIZE), batch_size=2, pin_memory=True)
    ready, total = None, 0
    for batch in loader:
        if ready is not None:
            if waits:
                main_stream().wait_stream(SIDE)
                ready.record_stream(main_stream())
            total += ready.sum()
        with torch.cuda.stream(SIDE):
            ready = batch.to(DEVICE, non_blocking=True)
    return total.item()


def wrong_copy_to_another_device():
    x = ones()
    with torch.cuda.device(1), torch.cuda.stream(torch.cuda.Stream()):
        y = x.to("cuda:1")
    return y.sum()


def right_copy_to_another_device():
    return ones().to("cuda:1").add_(1).to(DEVICE).sum().item()


def group():
    if not dist.is_initialized():
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)


def wrong_collective_that_nobody_waits_for():
    group()
    x = ones()
    dist.all_reduce(x, async_op=True)
    return x + 1


def right_collective_that_nobody_waits_for():
    group()
    x = ones()
    dist.all_reduce(x, async_op=True).wait()
    dist.all_reduce(x)
    return x + 1


def wrong_input_of_a_collective():
    group()
    x, both = ones(), torch.empty(SIZE, device=DEVICE)
    work = dist.all_gather_into_tensor(both, x, async_op=True)
    x.zero_()
    work.wait()


def right_input_of_a_collective():
    group()
    x, both = ones(), torch.empty(SIZE, device=DEVICE)
    work = dist.all_gather_into_tensor(both, x, async_op=True)
    x.sum()
    work.wait()
    x.zero_()
