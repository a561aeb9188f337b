"""Pieces of programs that lack a wait, but for their ``right`` twins.

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


def input_of_another_stream(right):
    x = ones()
    if right:
        SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        x.sum()


def result_of_another_stream(right):
    with torch.cuda.stream(SIDE):
        y = ones()
    if right:
        main_stream().wait_stream(SIDE)
    return y + 1


def event_before_the_work(right):
    with torch.cuda.stream(SIDE):
        before = SIDE.record_event()
        y = ones()
        after = SIDE.record_event()
    main_stream().wait_event(after if right else before)
    return y + 1


def wait_for_one_of_two(right):
    with torch.cuda.stream(SIDE):
        one = ones()
    with torch.cuda.stream(OTHER):
        two = ones()
        OTHER.wait_stream(SIDE)
    main_stream().wait_stream(OTHER if right else SIDE)  # the one has waited for the other
    return one + two


def item_of_another_stream(right):
    with torch.cuda.stream(SIDE):
        y = ones().sum()
        if right:
            return y.item()
    return y.item()


def change_while_it_is_read(right):
    x = ones()
    SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        x.sum()
    x.sum()  # two may read
    if right:
        torch.cuda.synchronize()
    x.zero_()


def parts_that_overlap(right):
    x = ones().view(-1, 2)
    SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        x[:50, 0].add_(1)
        x[100:].add_(1)
    x[:50, 1].add_(1)
    x[50 : 100 if right else 101].add_(1)


def list_of_parameters(right):
    weights, factors = [ones() for _ in range(3)], [ones() for _ in range(3)]
    SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        torch._foreach_mul_(weights, factors if right else 0.5)
    return (factors if right else weights)[2].sum()


def gradients_of_a_backward_pass(right):
    x = ones(requires_grad=True)
    SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        (x * 2).sum().backward()
    if right:
        main_stream().wait_stream(SIDE)
    return x.grad + 1


def memory_given_back(right):
    x = ones()
    SIDE.wait_stream(main_stream())
    with torch.cuda.stream(SIDE):
        x.sum()
    if right:
        x.record_stream(SIDE)
    del x
    return ones()


def input_of_a_graph(right):
    x, graph = ones(), torch.cuda.CUDAGraph()
    torch.cuda.synchronize()
    with torch.cuda.graph(graph):
        y = x * 2
    with torch.cuda.stream(SIDE):
        x.fill_(3)
    if right:
        main_stream().wait_stream(SIDE)
    graph.replay()
    assert y.mean().item() == 6


def copy_that_is_read(right):
    host = ones().to("cpu", non_blocking=True)
    if right:
        main_stream().synchronize()
    assert host.sum().item() == SIZE


def copy_that_numpy_reads(right):
    host, done = torch.empty(SIZE, pin_memory=True), torch.cuda.Event()
    host.copy_(ones(), non_blocking=True)
    done.record()
    if right:
        done.synchronize()
    assert float(host.numpy()[3]) == 1


def synchronization_of_another_stream(right):
    host = torch.empty(SIZE, pin_memory=True)
    with torch.cuda.stream(SIDE):
        host.copy_(ones(), non_blocking=True)
        done = SIDE.record_event()
    if right:
        main_stream().wait_event(done)
    main_stream().synchronize()
    return host.sum()


def buffer_that_is_filled_again(right):
    buffer = torch.ones(SIZE).pin_memory()
    x = buffer.to(DEVICE, non_blocking=True)
    buffer.sum()
    if right:
        assert x.sum().item() == SIZE
    buffer.fill_(2)


def buffer_of_two_copies(right):
    host, x = torch.ones(SIZE).pin_memory(), ones()
    if right:  # both read it, and so does the host
        host.to(DEVICE, non_blocking=True)
    else:
        host.copy_(x, non_blocking=True)
    with torch.cuda.stream(SIDE):
        host.to(DEVICE, non_blocking=True)
    host.sum()


def buffer_that_another_stream_reads(right):
    host = torch.ones(SIZE).pin_memory()
    host.to(DEVICE, non_blocking=True)
    with torch.cuda.stream(SIDE):
        host.to(DEVICE, non_blocking=True)
    if right:
        torch.cuda.synchronize()
    else:
        SIDE.synchronize()
    host.fill_(2)


def buffer_of_two_streams(right):
    host, x = torch.zeros(2, SIZE, pin_memory=True), ones()
    SIDE.wait_stream(main_stream())
    host[0].copy_(x, non_blocking=True)
    with torch.cuda.stream(SIDE):
        host[int(right)].copy_(x, non_blocking=True)
    torch.cuda.synchronize()
    assert host[0].sum().item() == SIZE


def batches_fetched_ahead(right):
    loader = torch.utils.data.DataLoader(torch.ones(8, SIZE), batch_size=2, pin_memory=True)
    ready, total = None, 0
    for batch in loader:
        if ready is not None:
            if right:
                main_stream().wait_stream(SIDE)
                ready.record_stream(main_stream())
            total += ready.sum()
        with torch.cuda.stream(SIDE):
            ready = batch.to(DEVICE, non_blocking=True)
    return total.item()


def copy_to_another_device(right):
    x = ones()
    with torch.cuda.device(1), torch.cuda.stream(None if right else torch.cuda.Stream()):
        y = x.to("cuda:1")
    assert y.add_(1).to(DEVICE).sum().item() == 2 * SIZE


def group():
    if not dist.is_initialized():
        dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)


def collective_that_nobody_waits_for(right):
    group()
    x = ones()
    work = dist.all_reduce(x, async_op=True)
    if right:
        work.wait()
        dist.all_reduce(x)
    return x + 1


def input_of_a_collective(right):
    group()
    x, both = ones(), torch.empty(SIZE, device=DEVICE)
    work = dist.all_gather_into_tensor(both, x, async_op=True)
    x.sum()
    if right:
        work.wait()
    x.zero_()
    work.wait()
