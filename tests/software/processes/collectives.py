"""Every collective of torch.distributed over nccl, with values that follow from the rank."""

import functools
import operator
from collections.abc import Callable

import pytest
import torch
import torch.distributed as dist
import torch.distributed._functional_collectives as functional
from torch import Tensor

from tests.software.processes import ranks
from tests.software.processes.ranks import same

FLOATS = torch.float32, torch.float64, torch.float16, torch.bfloat16
NUMBERS = *FLOATS, torch.int8, torch.uint8, torch.int32, torch.int64
MOVED = *NUMBERS, torch.bool, torch.complex64, torch.float8_e4m3fn, torch.float8_e5m2
OPERATIONS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "SUM": operator.add,
    "PRODUCT": operator.mul,
    "MIN": torch.minimum,
    "MAX": torch.maximum,
}


def of(rank: int, dtype: torch.dtype = torch.float32, numel: int = 6) -> Tensor:
    """Returns the input of a rank."""
    return ((torch.arange(numel) + 2 * rank) % 5 + 1).to(dtype)


def combined(
    size: int, dtype: torch.dtype, combine: Callable[[Tensor, Tensor], Tensor], numel: int = 6
) -> Tensor:
    return functools.reduce(combine, [of(rank, dtype, numel) for rank in range(size)])


def reductions(rank: int, size: int) -> None:
    for dtype in NUMBERS:
        for name, combine in OPERATIONS.items():
            tensor = of(rank, dtype).cuda()
            dist.all_reduce(tensor, op=getattr(dist.ReduceOp, name))
            same(tensor, combined(size, dtype, combine), f"all_reduce {name} {dtype}")
    for dtype in FLOATS:
        tensor = of(rank, dtype).cuda()
        dist.all_reduce(tensor, op=dist.ReduceOp.AVG)
        same(tensor, combined(size, dtype, operator.add) / size, f"all_reduce AVG {dtype}")
    tensor = of(rank, torch.int64).cuda()
    dist.all_reduce(tensor, op=dist.ReduceOp.AVG)
    same(tensor, combined(size, torch.int64, operator.add) // size, "all_reduce AVG of integers")
    large = torch.full((2,), 40000.0, dtype=torch.float16, device="cuda")
    dist.all_reduce(large, op=dist.ReduceOp.AVG)
    same(large, torch.full((2,), 40000.0, dtype=torch.float16), "AVG does not overflow")
    for factor in (0.5, torch.tensor([0.5], device="cuda")):
        tensor = of(rank).cuda()
        dist.all_reduce(tensor, op=dist._make_nccl_premul_sum(factor))
        same(tensor, combined(size, torch.float32, operator.add) / 2, "PREMUL_SUM")
    truths = torch.tensor([rank == 0, True, False]).cuda()
    dist.all_reduce(truths)
    same(truths, torch.tensor([True, True, False]), "all_reduce of truths")
    tensor = torch.complex(of(rank), -of(rank)).cuda()
    dist.all_reduce(tensor)
    total = combined(size, torch.float32, operator.add)
    same(tensor, torch.complex(total, -total), "all_reduce of complex numbers")
    for root in range(size):
        for operation, divisor in ((dist.ReduceOp.SUM, 1), (dist.ReduceOp.AVG, size)):
            tensor = of(rank).cuda()
            dist.reduce(tensor, dst=root, op=operation)
            same(tensor, total / divisor if rank == root else of(rank), "reduce changes the root's alone")


def refusals(rank: int, size: int) -> None:
    tensor = torch.ones(4, 4, device="cuda")
    for attempt, kind in (
        (lambda: dist.all_reduce(tensor.int(), op=dist.ReduceOp.BAND), ValueError),
        (lambda: dist.all_reduce(tensor.bool(), op=dist.ReduceOp.AVG), TypeError),
        (lambda: dist.all_reduce(tensor.short()), TypeError),
        (lambda: dist.all_reduce(tensor.to(torch.float8_e5m2fnuz)), RuntimeError),
        (lambda: dist.all_reduce(tensor[:, :2]), ValueError),
        (lambda: dist.recv(tensor), RuntimeError),
        (lambda: dist.all_reduce(torch.ones(1)), RuntimeError),
        (lambda: dist.monitored_barrier(), ValueError),
    ):
        try:
            attempt()
        except kind:
            continue
        raise AssertionError(f"not refused: {attempt.__code__.co_firstlineno}")


def gathers(rank: int, size: int) -> None:
    for dtype in MOVED:
        everybodys = [of(each, dtype) for each in range(size)]
        own, parts = of(rank, dtype).cuda(), [torch.empty(6, dtype=dtype, device="cuda") for _ in range(size)]
        dist.all_gather(parts, own)
        same([part.float() for part in parts], [each.float() for each in everybodys], f"all_gather {dtype}")
        whole = torch.empty(6 * size, dtype=dtype, device="cuda")
        dist.all_gather_into_tensor(whole, own)
        same(whole.float(), torch.cat(everybodys).float(), f"all_gather_into_tensor {dtype}")
        tensor = of(rank, dtype).cuda()
        dist.broadcast(tensor, src=size - 1)
        same(tensor.float(), of(size - 1, dtype).float(), f"broadcast {dtype}")
    uneven = [torch.empty(each + 1, device="cuda") for each in range(size)]
    dist.all_gather(uneven, of(rank, numel=rank + 1).cuda())
    same(uneven, [of(each, numel=each + 1) for each in range(size)], "all_gather uneven")
    parts = [torch.empty(6, device="cuda") for _ in range(size)] if rank == 1 else None
    dist.gather(of(rank).cuda(), parts, dst=1)
    same(parts or [], [of(each) for each in range(size)] if rank == 1 else [], "gather")
    tensor = torch.empty(6, device="cuda")
    dist.scatter(tensor, [of(each).cuda() for each in range(size)] if rank == 0 else None, src=0)
    same(tensor, of(rank), "scatter")


def scattered_reductions(rank: int, size: int) -> None:
    for operation, divisor in ((dist.ReduceOp.SUM, 1), (dist.ReduceOp.AVG, size)):
        for dtype in FLOATS:
            whole, part = of(rank, dtype, 3 * size).cuda(), torch.empty(3, dtype=dtype, device="cuda")
            before = whole.clone()
            expected = (combined(size, dtype, operator.add, 3 * size) / divisor).chunk(size)[rank]
            dist.reduce_scatter_tensor(part, whole, op=operation)
            same(part, expected, f"reduce_scatter_tensor {dtype}")
            dist.reduce_scatter(part.zero_(), list(whole.chunk(size)), op=operation)
            same(part, expected, f"reduce_scatter {dtype}")
            assert torch.equal(whole, before), "what goes in stays"
    in_rows, part = of(rank, numel=6 * size).view(size, 2, 3).cuda(), torch.empty(6, device="cuda")
    dist.reduce_scatter_tensor(part, in_rows)
    total = combined(size, torch.float32, operator.add, 6 * size)
    same(part, total.chunk(size)[rank], "reduce_scatter_tensor in rows")
    whole = torch.empty(size, 2, 3, device="cuda")
    dist.all_gather_into_tensor(whole, part)
    same(whole.flatten(), total, "all_gather_into_tensor in rows")
    with pytest.raises(ValueError, match="must be the same size as output size times world size"):
        dist.reduce_scatter_tensor(part, torch.zeros(6 * size + 1, device="cuda"))
    uneven = [of(rank + each, numel=each + 1).cuda() for each in range(size)]
    part = torch.empty(rank + 1, device="cuda")
    dist.reduce_scatter(part, uneven)
    same(part, sum(of(other + rank, numel=rank + 1) for other in range(size)), "reduce_scatter uneven")


def exchanges(rank: int, size: int) -> None:
    received = torch.empty(2 * size, device="cuda")
    dist.all_to_all_single(received, of(rank, numel=2 * size).cuda())
    same(
        received,
        torch.cat([of(each, numel=2 * size)[2 * rank :][:2] for each in range(size)]),
        "all_to_all_single",
    )
    splits = [each + 1 for each in range(size)]
    received = torch.empty(size * (rank + 1), device="cuda")
    dist.all_to_all_single(received, of(rank, numel=sum(splits)).cuda(), [rank + 1] * size, splits)
    pieces = [of(each, numel=sum(splits)).split(splits)[rank] for each in range(size)]
    same(received, torch.cat(pieces), "all_to_all_single uneven")
    parts = [torch.empty(rank + 1, device="cuda") for _ in range(size)]
    dist.all_to_all(parts, [part.contiguous() for part in of(rank, numel=sum(splits)).cuda().split(splits)])
    same(parts, pieces, "all_to_all")


def messages(rank: int, size: int) -> None:
    after, before = (rank + 1) % size, (rank - 1) % size
    tensor = torch.empty(6, device="cuda")
    if rank % 2:
        dist.recv(tensor, src=before, tag=7)
        dist.send(of(rank).cuda(), dst=after)
    else:
        dist.send(of(rank).cuda(), dst=after)  # without the tag, since NCCL has none
        dist.recv(tensor, src=before)
    same(tensor, of(before), "send and recv")
    dist.isend(of(rank, numel=1 << 16).cuda(), after)  # the request is dropped, as NCCL allows
    request = dist.irecv(tensor := torch.empty(1 << 16, device="cuda"), before)
    assert request is not None
    while not request.is_completed():
        pass
    same(tensor, of(before, numel=1 << 16), "isend and irecv")
    incoming = [torch.empty(6, device="cuda") for _ in range(2)]
    batch = [dist.P2POp(dist.irecv, each, before) for each in incoming]
    batch += [dist.P2POp(dist.isend, of(rank + each).cuda(), after) for each in range(2)]
    requests = dist.batch_isend_irecv(batch)
    assert len(requests) == 1, "NCCL makes one of them"
    for request in requests:
        request.wait()
    same(incoming, [of(before), of(before + 1)], "batch_isend_irecv")
    torch.cuda.synchronize()


def asynchronous(rank: int, size: int) -> None:
    total = combined(size, torch.float32, operator.add)
    tensor = of(rank).cuda()
    work = dist.all_reduce(tensor, async_op=True)
    assert work is not None
    assert work.wait()
    assert work.is_completed()
    assert work.exception() is None
    same(tensor, total, "async_op")
    tensor = of(rank).cuda()
    work = dist.all_reduce(tensor, op=dist.ReduceOp.AVG, async_op=True)
    torch.cuda.synchronize()
    same(tensor, total / size, "synchronize completes")
    tensor = of(rank).cuda()
    future = dist.all_reduce(tensor, async_op=True).get_future()
    halves = future.then(lambda done: done.value()[0] / 2)
    same(halves.wait(), total / 2, "futures")
    everyone = [torch.empty_like(of(0)).cuda() for _ in range(size)]
    future = dist.all_gather(everyone, of(rank).cuda(), async_op=True).get_future()
    same(future.value()[0], torch.stack([of(other) for other in range(size)]), "the future of all_gather")
    tensor = of(rank).cuda()
    work = dist.all_reduce(tensor, async_op=True)
    while not work.is_completed():
        pass
    same(tensor, total, "polling")


def together(rank: int, size: int) -> None:
    total = combined(size, torch.float32, operator.add)
    tensors = [of(rank).cuda() for _ in range(3)]
    with dist._coalescing_manager(device=torch.device("cuda", rank), async_ops=True) as manager:
        for tensor in tensors:
            dist.all_reduce(tensor)
    manager.wait()
    same(tensors, [total] * 3, "coalescing manager")
    wholes = [torch.empty(6 * size, device="cuda") for _ in range(2)]
    with dist._coalescing_manager():
        for whole in wholes:
            dist.all_gather_into_tensor(whole, of(rank).cuda())
    same(wholes, [torch.cat([of(each) for each in range(size)])] * 2, "coalesced all_gather_into_tensor")
    parts = [torch.empty(3, device="cuda") for _ in range(2)]
    with dist._coalescing_manager():
        for part in parts:
            dist.reduce_scatter_tensor(part, of(rank, numel=3 * size).cuda())
    expected = combined(size, torch.float32, operator.add, 3 * size).chunk(size)[rank]
    same(parts, [expected] * 2, "coalesced reduce_scatter_tensor")
    several = [of(rank).cuda(), of(rank).cuda()]
    dist.all_reduce_coalesced(several)
    same(several, [total, total], "all_reduce_coalesced")


def objects(rank: int, size: int) -> None:
    everything = [None] * size
    dist.all_gather_object(everything, {"rank": rank, "tensor": of(rank)})
    assert [each["rank"] for each in everything] == list(range(size))
    gathered = [None] * size if rank == 0 else None
    dist.gather_object(rank, gathered, dst=0)
    assert gathered is None or gathered == list(range(size))
    sent = [rank, "text"] if rank == 1 else [None, None]
    dist.broadcast_object_list(sent, src=1)
    assert sent == [1, "text"]
    own: list[object] = [None]
    dist.scatter_object_list(own, [f"for {each}" for each in range(size)] if rank == 0 else None, src=0)
    assert own == [f"for {rank}"]
    if rank == 0:
        dist.send_object_list([{"a": 1}], dst=1)
    elif rank == 1:
        dist.recv_object_list(own, src=0)
        assert own == [{"a": 1}]


def functions(rank: int, size: int) -> None:
    total = combined(size, torch.float32, operator.add)
    group = dist.group.WORLD
    same(functional.all_reduce(of(rank).cuda(), "sum", group) + 0, total, "functional all_reduce")
    gathered = functional.all_gather_tensor(of(rank).cuda(), 0, group)
    same(gathered + 0, torch.cat([of(each) for each in range(size)]), "functional all_gather_tensor")
    scattered = functional.reduce_scatter_tensor(of(rank, numel=3 * size).cuda(), "avg", 0, group)
    expected = (combined(size, torch.float32, operator.add, 3 * size) / size).chunk(size)[rank]
    same(scattered + 0, expected, "functional reduce_scatter_tensor")
    same(functional.broadcast(of(rank).cuda(), 1, group) + 0, of(1), "functional broadcast")
    exchanged = functional.all_to_all_single(of(rank, numel=size).cuda(), None, None, group)
    same(
        exchanged + 0,
        torch.stack([of(each, numel=size)[rank] for each in range(size)]),
        "functional all_to_all_single",
    )


def run(rank: int, size: int) -> None:
    """Runs every part."""
    for part in (
        *(reductions, refusals, gathers, scattered_reductions, exchanges, messages, asynchronous),
        *(together, objects, functions),
    ):
        part(rank, size)


if __name__ == "__main__":
    ranks.run(4, run)
    print("done")
