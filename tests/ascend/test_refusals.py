"""Operations that torch_npu refuses and morph implements in another way.

A test that fails here means that the vendor has fixed it: the table's entry and the workaround can go.
"""

import pytest
import torch
from torch.nn import functional

from tests.platforms import Platform

pytestmark = pytest.mark.platforms("npu")
LAST = torch.channels_last


MOVES = {
    "aten::_to_copy": (lambda x: x.to(memory_format=LAST), "Only contiguous_format or preserve_format"),
    "aten::contiguous": (lambda x: x.contiguous(memory_format=LAST), "only supported contiguous"),
    "aten::empty.memory_format": (
        lambda x: torch.empty(x.shape, device="npu", memory_format=LAST),
        "Only c10::MemoryFormat::Contiguous",
    ),
    "gelu, by the last": (
        lambda x: functional.gelu(x.permute(0, 3, 1, 2)),
        "Only c10::MemoryFormat::Contiguous",
    ),
}


@pytest.mark.parametrize("operator", MOVES)
def test_memory_formats(operator: str) -> None:
    move, said = MOVES[operator]
    with pytest.raises(RuntimeError, match=said):
        move(torch.rand(2, 3, 4, 5, device="npu"))


def test_reductions_of_float64(platform: Platform) -> None:
    program = """
import torch, torch_npu, torch.distributed as dist
dist.init_process_group("hccl", store=dist.HashStore(), rank=0, world_size=1)
x = torch.ones(2, dtype=torch.float64).npu()
for reduce, *of in ((dist.all_reduce, x), (dist.reduce, x, 0), (dist.reduce_scatter_tensor, x, x)):
    try:
        reduce(*of)
    except Exception as error:
        print(reduce.__name__, "Unsupported data type at::kDouble" in str(error))
"""
    done = platform.run(program, morph=False, check=False)
    assert done.stdout.splitlines() == [
        f"{name} True" for name in ("all_reduce", "reduce", "reduce_scatter_tensor")
    ]


def test_products_of_a_sparse_and_a_dense_matrix() -> None:
    sparse = torch.eye(3).to_sparse().npu()
    with pytest.raises(RuntimeError, match="aten::addmm"):
        torch.spmm(sparse, torch.ones(3, 2, device="npu"))


def test_products_of_sparse_matrices_go_with_morph(platform: Platform) -> None:
    program = """
import torch, torch_npu, morph
sparse, dense = torch.eye(3).to_sparse().npu(), torch.ones(3, 2).npu()
with morph.activated("npu"):
    assert torch.spmm(sparse, dense).cpu().tolist() == [[1, 1]] * 3
torch.spmm(sparse, dense)
"""
    done = platform.run(program, morph=False, check=False)
    assert done.returncode == 1
    assert "aten::addmm" in done.stderr
