"""Copies that are not blocking, of memory of the host that is not pinned and changes right after them."""

import torch

SIZE = 1000, 1000


def lists(source, device="cuda"):
    copies = [torch.zeros(SIZE, device=device)]
    torch._foreach_copy_(copies, [source], non_blocking=True)
    return copies[0]


TO_THE_DEVICE = {
    "cuda": lambda host: host.cuda(non_blocking=True),
    "to": lambda host: host.to("cuda", torch.float64, non_blocking=True),
    "copy_": lambda host: torch.empty(SIZE, device="cuda").copy_(host, non_blocking=True),
    "lists": lists,
}
FROM_THE_DEVICE = {
    "to": lambda there: there.to("cpu", non_blocking=True),
    "copy_": lambda there: torch.zeros(SIZE).copy_(there, non_blocking=True),
    "lists": lambda there: lists(there, "cpu"),
}
for name, move in TO_THE_DEVICE.items():
    for _ in range(30):
        host = torch.full(SIZE, 3.0)
        there = move(host)
        host.fill_(7)
        assert (there == 3).all(), name
for name, move in FROM_THE_DEVICE.items():
    for _ in range(10):
        there = torch.ones(SIZE, device="cuda")
        assert (move(there @ there) == SIZE[0]).all(), name
print("done")
