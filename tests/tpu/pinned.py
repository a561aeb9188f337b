"""Copies that are not blocking, of pinned memory: each comes after those before it, as on a stream."""

import torch

SIZE = 1000, 1000
ones = torch.ones(SIZE, device="cuda")
host = torch.empty(SIZE, pin_memory=True)


def there_and_back():
    host.copy_(ones @ ones, non_blocking=True)
    return host.to("cuda", non_blocking=True) == SIZE[0]


def there_and_back_by_a_copy_that_blocks():
    host.copy_(ones @ ones, non_blocking=True)
    return host.cuda() == SIZE[0]


def read_before_it_is_written():
    host.fill_(7)
    read = host.to("cuda", non_blocking=True)
    host.copy_(ones, non_blocking=True)
    return (read == 7) & (host.cuda() == 1)


def written_twice():
    host.copy_(ones @ ones, non_blocking=True)
    host.copy_(ones, non_blocking=True)
    torch.cuda.synchronize()
    return host == 1


def lists():
    torch._foreach_copy_([host], [ones @ ones], non_blocking=True)
    torch._foreach_copy_([host], [ones], non_blocking=True)
    return host.cuda() == 1


def freed_before_it_is_written():
    (ones @ ones).to("cpu", non_blocking=True)
    return torch.full(SIZE, 5.0).pin_memory() == 5


def saved_on_the_host():
    x = torch.full(SIZE, 3.0, device="cuda", requires_grad=True)
    with torch.autograd.graph.save_on_cpu(pin_memory=True):
        y = (x * x * x).sum()
    y.backward()
    return x.grad == 27


for kind in (
    there_and_back,
    there_and_back_by_a_copy_that_blocks,
    read_before_it_is_written,
    written_twice,
    lists,
    freed_before_it_is_written,
    saved_on_the_host,
):
    for _ in range(20):
        assert kind().all(), kind.__name__
print("done")
