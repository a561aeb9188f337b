"""Pieces of programs that read what nothing was written to, ``wrong_...``, and right twins, ``right_...``."""

import ctypes

import torch
from torch.nn import functional

SIZE = 1000
CUDART = ctypes.CDLL(f"libcudart.so.{(torch.version.cuda or '13').partition('.')[0]}")


def numbers(*shape, **options):
    return torch.ones(*shape or (SIZE,), device="cuda", **options)


def fresh(*shape, **options):
    return torch.empty(*shape or (SIZE,), device="cuda", **options)


def wrong_parameter():
    weight = torch.nn.Parameter(fresh(8, 8))
    return functional.linear(numbers(4, 8), weight)


def right_parameter():
    weight = torch.nn.Parameter(fresh(8, 8))
    torch.nn.init.xavier_uniform_(weight)
    functional.linear(numbers(4, 8), weight).sum().backward()


def wrong_sum_in_place():
    fresh().add_(numbers())


def right_sum_in_place():
    fresh().zero_().add_(numbers())


def wrong_number_for_the_host():
    return fresh(()).item()


def right_number_for_the_host():
    total = fresh(())
    torch.sum(numbers(), 0, out=total)
    assert total.item() == SIZE


def wrong_statistics():
    return functional.batch_norm(numbers(4, 8), fresh(8), numbers(8))


def right_statistics():
    return functional.batch_norm(numbers(4, 8), fresh(8).zero_(), numbers(8))


def wrong_row():
    rows = fresh(2, SIZE)
    rows[0] = 1
    return rows[1].sum()


def right_row():
    rows = fresh(2, SIZE)
    rows[0], rows[1] = 1, 2
    return rows.sum()


def wrong_scattered_sum():
    fresh(10).index_add_(0, torch.zeros(4, dtype=torch.int64, device="cuda"), numbers(4))


def right_scattered_sum():
    place = torch.zeros(4, dtype=torch.int64, device="cuda")
    fresh(10).fill_(0).index_add_(0, place, numbers(4))


def wrong_mask():
    return torch.where(fresh(dtype=torch.bool), numbers(), 0)


def right_mask():
    return torch.where(torch.rand(SIZE, device="cuda") > 0.5, numbers(), 0)


def wrong_rest_of_a_resized_tensor():
    x = numbers(10)
    x.resize_(SIZE)
    return x[10:].max()


def right_rest_of_a_resized_tensor():
    x = numbers(10)
    x.resize_(SIZE)
    return x[:10].max()


def wrong_scale_of_a_graph():
    scale, x = fresh(1), numbers()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = x * scale
    graph.replay()
    return result


def right_scale_of_a_graph():
    scale, x = fresh(1), numbers()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = x * scale
    scale.fill_(2)
    graph.replay()
    assert result[0].item() == 2


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


def wrong_memory_of_the_runtime():
    return torch.as_tensor(Memory(), device="cuda").sum()


def right_memory_of_the_runtime():
    memory = Memory()
    assert CUDART.cudaMemset(memory.pointer, 0, ctypes.c_size_t(4 * SIZE)) == 0
    assert torch.as_tensor(memory, device="cuda").sum().item() == 0


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


def wrong_input_of_compiled_code():
    return shifted(fresh())


def right_input_of_compiled_code():
    assert shifted(fresh().fill_(3))[0].item() == 7


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
