"""Special tensors: sparse, nested, quantized, subclassed, shared."""

import torch
import torch.nn as nn


def sparse_moves():
    x = torch.eye(2).to_sparse().cuda()
    assert x.is_cuda and x.is_sparse


def sparse_is_made_on_the_device():
    x = torch.sparse_coo_tensor([[0, 1], [1, 0]], [1.0, 2.0], (2, 2), device="cuda")
    assert x.is_cuda and x.to_dense().tolist() == [[0, 1], [2, 0]]


def sparse_is_multiplied():
    x = torch.eye(2, device="cuda").to_sparse()
    assert torch.sparse.mm(x, torch.ones(2, 2, device="cuda")).sum().item() == 4


def nested_is_made_on_the_device():
    x = torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged, device="cuda")
    assert x.values().is_cuda


def subclass_moves():
    class Named(torch.Tensor):
        pass

    x = torch.ones(2).as_subclass(Named).cuda()
    assert x.is_cuda and isinstance(x, Named)


def double_precision():
    x = torch.ones(2, dtype=torch.float64, device="cuda")
    assert x.dtype is torch.float64 and (x / 3).sum().item() == 2 / 3


def view_shares_its_memory():
    x = torch.zeros(2, 2, device="cuda")
    x[0].fill_(1)
    assert x.view(-1).data_ptr() == x.data_ptr() and x.sum().item() == 2


def storage_is_shared_by_set():
    x = torch.zeros(2, device="cuda")
    assert torch.empty(0, device="cuda").set_(x.untyped_storage(), 0, (2,)).data_ptr() == x.data_ptr()


def mask_selects():
    x = torch.arange(4, device="cuda")
    assert x[x > 1].tolist() == [2, 3] and x[torch.tensor([0, 1])].is_cuda


def indices_scatter():
    x = torch.zeros(3, device="cuda").scatter_(0, torch.tensor([1], device="cuda"), 1.0)
    assert x.tolist() == [0, 1, 0]


def lazy_module_moves():
    module = nn.LazyLinear(2).cuda()
    assert module(torch.ones(1, 3, device="cuda")).is_cuda and module.weight.is_cuda


EXPRESSIONS = {
    "nested_moves": lambda: (
        torch.nested.nested_tensor([torch.ones(2), torch.ones(3)], layout=torch.jagged).cuda().is_cuda
    ),
    "sparse_has_a_type": lambda: torch.eye(2).to_sparse().cuda().type() == "torch.cuda.sparse.FloatTensor",
    "sparse_of_the_device_is_densified": lambda: torch.eye(2, device="cuda").to_sparse().to_dense().is_cuda,
    "compressed_rows_move": lambda: torch.eye(2).to_sparse_csr().cuda().is_cuda,
    "quantized_moves": lambda: torch.quantize_per_tensor(torch.ones(2), 0.1, 0, torch.qint8).cuda().is_cuda,
    "complex_moves": lambda: torch.view_as_real(torch.ones(2, dtype=torch.complex64).cuda()).is_cuda,
    "eight_bits_move": lambda: torch.ones(2).to(torch.float8_e4m3fn).cuda().dtype is torch.float8_e4m3fn,
    "strings_show_the_device": lambda: "device='cuda:0'" in repr(torch.ones(1, device="cuda")),
    "tensor_knows_its_array_interface": lambda: (
        torch.ones(2, device="cuda").__cuda_array_interface__["shape"] == (2,)
    ),
    "tensor_tells_dlpack_its_device": lambda: torch.ones(2, device="cuda").__dlpack_device__()[1] == 0,
}
