"""Factories: tensors made on a device."""

import numpy
import torch


def out_on_the_device():
    out = torch.empty(2, device="cuda")
    assert torch.add(torch.ones(2, device="cuda"), 1, out=out) is out


def default_tensor_type():
    torch.set_default_tensor_type("torch.cuda.FloatTensor")
    try:
        assert torch.zeros(2).is_cuda
    finally:
        torch.set_default_tensor_type("torch.FloatTensor")


def default_tensor_type_by_class():
    torch.set_default_tensor_type(torch.cuda.FloatTensor)
    try:
        assert torch.tensor([1.0]).is_cuda
    finally:
        torch.set_default_tensor_type(torch.FloatTensor)


def interchange_by_dlpack():
    x = torch.arange(3, device="cuda")
    assert torch.from_dlpack(x).data_ptr() == x.data_ptr()


EXPRESSIONS = {
    "tensor_type_chosen_by_a_flag": lambda: (
        (torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor)(2).zero_().is_cuda
    ),
    "zeros_by_string": lambda: torch.zeros(2, device="cuda").is_cuda,
    "zeros_by_device": lambda: torch.zeros(2, device=torch.device("cuda", 0)).is_cuda,
    "zeros_by_number": lambda: torch.zeros(2, device=0).device == torch.device("cuda:0"),
    "zeros_on_the_second_device": lambda: torch.zeros(2, device="cuda:1").get_device() == 1,
    "ones_of_a_type": lambda: torch.ones(2, 3, dtype=torch.half, device="cuda").dtype is torch.float16,
    "empty": lambda: torch.empty((2, 3), device="cuda").shape == (2, 3),
    "empty_strided": lambda: torch.empty_strided((2, 3), (1, 2), device="cuda").stride() == (1, 2),
    "full": lambda: torch.full((2,), 7, device="cuda").tolist() == [7, 7],
    "tensor": lambda: torch.tensor([1.0, 2.0], device="cuda").is_cuda,
    "tensor_that_requires_grad": lambda: torch.tensor([1.0], device="cuda", requires_grad=True).is_leaf,
    "as_tensor": lambda: torch.as_tensor([1, 2], device="cuda").is_cuda,
    "as_tensor_of_numpy": lambda: (
        torch.as_tensor(numpy.ones(2, dtype=numpy.float32), device=torch.device("cuda")).sum().item() == 2
    ),
    "asarray": lambda: torch.asarray([1, 2], device="cuda").is_cuda,
    "from_numpy_then_cuda": lambda: torch.from_numpy(numpy.arange(3)).cuda().tolist() == [0, 1, 2],
    "arange": lambda: torch.arange(4, device="cuda").tolist() == [0, 1, 2, 3],
    "linspace": lambda: torch.linspace(0, 1, 3, device="cuda").is_cuda,
    "eye": lambda: torch.eye(2, device="cuda").trace().item() == 2,
    "rand": lambda: torch.rand(2, device="cuda").is_cuda,
    "randn": lambda: torch.randn(2, 2, device="cuda").is_cuda,
    "randint": lambda: torch.randint(0, 10, (3,), device="cuda").max().item() < 10,
    "randperm": lambda: torch.randperm(5, device="cuda").sort().values.tolist() == [0, 1, 2, 3, 4],
    "normal": lambda: torch.normal(0.0, 1.0, (2,), device="cuda").is_cuda,
    "tril_indices": lambda: torch.tril_indices(2, 2, device="cuda").is_cuda,
    "zeros_like": lambda: torch.zeros_like(torch.ones(2), device="cuda").is_cuda,
    "ones_like_a_device_tensor": lambda: torch.ones_like(torch.zeros(2).cuda()).is_cuda,
    "rand_like": lambda: torch.rand_like(torch.zeros(2, device="cuda")).is_cuda,
    "new_zeros": lambda: torch.zeros(2, device="cuda").new_zeros(3).is_cuda,
    "new_tensor": lambda: torch.zeros(2).new_tensor([1.0], device="cuda").is_cuda,
    "new_empty_of_another_device": lambda: torch.zeros(2).new_empty((2,), device="cuda:0").is_cuda,
    "new": lambda: torch.zeros(2, device="cuda").new(3).is_cuda,
    "complex_numbers": lambda: torch.zeros(2, dtype=torch.complex64, device="cuda").is_cuda,
    "hann_window": lambda: torch.hann_window(4, device="cuda").is_cuda,
    "meta_is_another_device": lambda: not torch.zeros(2, device="meta").is_cuda,
    "float_tensor_of_values": lambda: torch.cuda.FloatTensor([1.0, 2.0]).tolist() == [1.0, 2.0],
    "float_tensor_of_a_size": lambda: torch.cuda.FloatTensor(2, 3).shape == (2, 3),
    "float_tensor_is_on_the_device": lambda: torch.cuda.FloatTensor(2).fill_(0).is_cuda,
    "long_tensor_is_long": lambda: torch.cuda.LongTensor([1]).dtype is torch.int64,
    "byte_tensor_is_a_mask": lambda: torch.cuda.ByteTensor([1, 0]).bool().tolist() == [True, False],
    "is_instance_of_a_tensor_type": lambda: isinstance(torch.zeros(2).cuda(), torch.cuda.FloatTensor),
    "is_no_instance_of_another_tensor_type": lambda: (
        not isinstance(torch.zeros(2).cuda(), torch.cuda.LongTensor)
    ),
    "host_tensor_is_no_instance_of_a_device_type": lambda: (
        not isinstance(torch.zeros(2), torch.cuda.FloatTensor)
    ),
    "factory_found_in_a_list": lambda: torch.zeros in [torch.zeros, torch.ones],
    "factory_taken_by_name": lambda: all(
        getattr(torch, name)(2, device="cuda").is_cuda for name in ("zeros", "ones", "empty", "rand")
    ),
    "from_bytes": lambda: torch.frombuffer(bytearray(8), dtype=torch.float32).cuda().is_cuda,
}
