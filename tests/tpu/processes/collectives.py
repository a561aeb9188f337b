"""All collectives between two processes, each with a device of its own: `torchrun --nproc-per-node 2`."""

import os

import torch
import torch.distributed as dist

RANK = int(os.environ["LOCAL_RANK"])
DEVICE = torch.device("cuda", RANK)
torch.cuda.set_device(RANK)
dist.init_process_group("nccl", device_id=DEVICE)

own = torch.arange(4.0, device=DEVICE) + RANK
assert own.device == DEVICE
assert own.device.index == torch.cuda.current_device() == own.get_device() == RANK
assert str(own.cuda(RANK).device) == f"cuda:{RANK}"
assert torch.cuda.device_count() == 2
refused = ""
try:
    own.to(f"cuda:{1 - RANK}")
except RuntimeError as error:
    refused = str(error)
assert f"the device is another process's, this one has cuda:{RANK}" in refused


def outputs():
    return [torch.empty(2, device=DEVICE) for _ in range(2)]


total = own.clone()
dist.all_reduce(total)
assert total.tolist() == [1, 3, 5, 7]
mean = own.clone()
dist.all_reduce(mean, op=dist.ReduceOp.AVG)
assert mean.tolist() == [0.5, 1.5, 2.5, 3.5]
largest = own.clone()
dist.all_reduce(largest, op=dist.ReduceOp.MAX, async_op=True).wait()
assert largest.tolist() == [1, 2, 3, 4]
sent = own.clone()
dist.broadcast(sent, 1)
assert sent.tolist() == [1, 2, 3, 4]

everyone = [torch.empty_like(own) for _ in range(2)]
dist.all_gather(everyone, own)
assert [each.tolist() for each in everyone] == [[0, 1, 2, 3], [1, 2, 3, 4]]
part = torch.empty(2, device=DEVICE)
dist.reduce_scatter(part, list(own.chunk(2)))
assert part.tolist() == ([1, 3], [5, 7])[RANK]
half = torch.empty(2, device=DEVICE, dtype=torch.bfloat16)
dist.reduce_scatter_tensor(half, own.bfloat16(), op=dist.ReduceOp.AVG)
assert half.tolist() == ([0.5, 1.5], [2.5, 3.5])[RANK]
exchanged = torch.empty(4, device=DEVICE)
dist.all_to_all_single(exchanged, own)
assert exchanged.tolist() == ([0, 1, 1, 2], [2, 3, 3, 4])[RANK]
lists = outputs()
dist.all_to_all(lists, list(own.chunk(2)))
assert torch.cat(lists).tolist() == exchanged.tolist()

reduced = own.clone()
dist.reduce(reduced, 0)
assert RANK or reduced.tolist() == [1, 3, 5, 7]
dist.gather(own, everyone if RANK == 0 else None, 0)
assert RANK or everyone[1].tolist() == [1, 2, 3, 4]
scattered = torch.empty(4, device=DEVICE)
dist.scatter(scattered, [own, own + 10] if RANK == 0 else None, 0)
assert scattered.tolist() == ([0, 1, 2, 3], [10, 11, 12, 13])[RANK]
received = torch.empty(4, device=DEVICE)
for order in (1, -1):
    both = [dist.P2POp(dist.irecv, received, 1 - RANK), dist.P2POp(dist.isend, own, 1 - RANK)]
    for work in dist.batch_isend_irecv(both[::order]):
        work.wait()
    assert received.tolist() == [1 - RANK + place for place in range(4)]

objects = [None, None]
dist.all_gather_object(objects, {"rank": RANK})
assert objects == [{"rank": 0}, {"rank": 1}]
dist.barrier(device_ids=[RANK])
first, second = own.clone(), own.clone()
with dist._coalescing_manager(device=DEVICE):
    dist.all_reduce(first)
    dist.all_reduce(second)
assert first.tolist() == second.tolist() == [1, 3, 5, 7]
group = dist.new_group([0, 1])
assert dist.get_backend(group) == "nccl"
dist.all_reduce(own, group=group)
assert own.tolist() == [1, 3, 5, 7]
dist.destroy_process_group()
