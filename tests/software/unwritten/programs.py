"""Pieces of programs that read what nothing was written to, but for their ``right`` twins."""

import ctypes

import torch
from torch.nn import functional

SIZE = 1000
CUDART = ctypes.CDLL(f"libcudart.so.{(torch.version.cuda or '13').partition('.')[0]}")


def numbers(*shape, **options):
    return torch.ones(*shape or (SIZE,), device="cuda", **options)


def fresh(*shape, **options):
    return torch.empty(*shape or (SIZE,), device="cuda", **options)


def parameter(right):
    weight = torch.nn.Parameter(fresh(8, 8))
    if right:
        torch.nn.init.xavier_uniform_(weight)
    functional.linear(numbers(4, 8), weight).sum().backward()


def sum_in_place(right):
    x = fresh()
    if right:
        x.zero_()
    x.add_(numbers())


def number_for_the_host(right):
    total = fresh(())
    if right:
        torch.sum(numbers(), 0, out=total)
    assert not right or total.item() == SIZE
    return total.item()


def statistics(right):
    mean = fresh(8).zero_() if right else fresh(8)
    return functional.batch_norm(numbers(4, 8), mean, numbers(8))


def row(right):
    rows = fresh(2, SIZE)
    rows[0] = 1
    if right:
        rows[1] = 2
    return rows[1].sum()


def scattered_sum(right):
    place = torch.zeros(4, dtype=torch.int64, device="cuda")
    into = fresh(10).fill_(0) if right else fresh(10)
    into.index_add_(0, place, numbers(4))


def mask(right):
    kept = torch.rand(SIZE, device="cuda") > 0.5 if right else fresh(dtype=torch.bool)
    return torch.where(kept, numbers(), 0)


def rest_of_a_resized_tensor(right):
    x = numbers(10)
    x.resize_(SIZE)
    return (x[:10] if right else x[10:]).max()


def scale_of_a_graph(right):
    scale, x = fresh(1), numbers()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = x * scale
    if right:
        scale.fill_(2)
    graph.replay()
    assert not right or result[0].item() == 2


class Memory:
    """Memory of the runtime, as a tensor of torch's."""

    def __init__(self):
        self.pointer = ctypes.c_void_p()
        assert CUDART.cudaMalloc(ctypes.byref(self.pointer), ctypes.c_size_t(4 * SIZE)) == 0
        self.__cuda_array_interface__ = {
            "shape": (SIZE,),
            "typestr": "<f4",
            "data": (self.pointer.value, False),
            "version": 2,
        }


def memory_of_the_runtime(right):
    memory = Memory()
    if right:
        assert CUDART.cudaMemset(memory.pointer, 0, ctypes.c_size_t(4 * SIZE)) == 0
    total = torch.as_tensor(memory, device="cuda").sum()
    assert not right or total.item() == 0


def right_copies():
    x = fresh()
    copies = [x.clone(), x.cpu(), torch.cat([x, x]), torch.zeros_like(x), x.reshape(2, -1).contiguous()]
    x.copy_(numbers())
    assert x.sum().item() == SIZE
    assert len(copies) == 5


def right_results_of_other_streams():
    stream, x = torch.cuda.Stream(), fresh()
    with torch.cuda.stream(stream):
        x.fill_(3)
    torch.cuda.current_stream().wait_stream(stream)
    assert x.mean().item() == 3


@torch.compile
def shifted(x):
    return x * 2 + 1


def input_of_compiled_code(right):
    x = fresh().fill_(3) if right else fresh()
    assert shifted(x)[0].item() == 7 or not right


def right_graphed_module():
    graphed = torch.cuda.make_graphed_callables(torch.nn.Linear(4, 2).cuda(), (numbers(3, 4),))
    graphed(numbers(3, 4)).sum().backward()


def right_training():
    model = torch.nn.Sequential(torch.nn.Linear(8, 8), torch.nn.BatchNorm1d(8), torch.nn.GELU()).cuda()
    optimizer = torch.optim.AdamW(model.parameters())
    for _ in range(3):
        optimizer.zero_grad()
        model(numbers(4, 8)).square().mean().backward()
        optimizer.step()
