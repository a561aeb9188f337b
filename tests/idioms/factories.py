"""Factories: tensors made on a device."""

import numpy
import torch

from idiom import run


def zeros_by_string():
    assert torch.zeros(2, device="cuda").is_cuda


def zeros_by_device():
    assert torch.zeros(2, device=torch.device("cuda", 0)).is_cuda


def zeros_by_number():
    assert torch.zeros(2, device=0).device == torch.device("cuda:0")


def zeros_on_the_second_device():
    assert torch.zeros(2, device="cuda:1").get_device() == 1


def ones_of_a_type():
    assert torch.ones(2, 3, dtype=torch.half, device="cuda").dtype is torch.float16


def empty():
    assert torch.empty((2, 3), device="cuda").shape == (2, 3)


def empty_strided():
    assert torch.empty_strided((2, 3), (1, 2), device="cuda").stride() == (1, 2)


def full():
    assert torch.full((2,), 7, device="cuda").tolist() == [7, 7]


def tensor():
    assert torch.tensor([1.0, 2.0], device="cuda").is_cuda


def tensor_that_requires_grad():
    assert torch.tensor([1.0], device="cuda", requires_grad=True).is_leaf


def as_tensor():
    assert torch.as_tensor([1, 2], device="cuda").is_cuda


def as_tensor_of_numpy():
    assert torch.as_tensor(numpy.ones(2, dtype=numpy.float32), device=torch.device("cuda")).sum().item() == 2


def asarray():
    assert torch.asarray([1, 2], device="cuda").is_cuda


def from_numpy_then_cuda():
    assert torch.from_numpy(numpy.arange(3)).cuda().tolist() == [0, 1, 2]


def arange():
    assert torch.arange(4, device="cuda").tolist() == [0, 1, 2, 3]


def linspace():
    assert torch.linspace(0, 1, 3, device="cuda").is_cuda


def eye():
    assert torch.eye(2, device="cuda").trace().item() == 2


def rand():
    assert torch.rand(2, device="cuda").is_cuda


def randn():
    assert torch.randn(2, 2, device="cuda").is_cuda


def randint():
    assert torch.randint(0, 10, (3,), device="cuda").max().item() < 10


def randperm():
    assert torch.randperm(5, device="cuda").sort().values.tolist() == [0, 1, 2, 3, 4]


def normal():
    assert torch.normal(0.0, 1.0, (2,), device="cuda").is_cuda


def tril_indices():
    assert torch.tril_indices(2, 2, device="cuda").is_cuda


def zeros_like():
    assert torch.zeros_like(torch.ones(2), device="cuda").is_cuda


def ones_like_a_device_tensor():
    assert torch.ones_like(torch.zeros(2).cuda()).is_cuda


def rand_like():
    assert torch.rand_like(torch.zeros(2, device="cuda")).is_cuda


def new_zeros():
    assert torch.zeros(2, device="cuda").new_zeros(3).is_cuda


def new_tensor():
    assert torch.zeros(2).new_tensor([1.0], device="cuda").is_cuda


def new_empty_of_another_device():
    assert torch.zeros(2).new_empty((2,), device="cuda:0").is_cuda


def new():
    assert torch.zeros(2, device="cuda").new(3).is_cuda


def complex_numbers():
    assert torch.zeros(2, dtype=torch.complex64, device="cuda").is_cuda


def hann_window():
    assert torch.hann_window(4, device="cuda").is_cuda


def meta_is_another_device():
    assert not torch.zeros(2, device="meta").is_cuda


def out_on_the_device():
    out = torch.empty(2, device="cuda")
    assert torch.add(torch.ones(2, device="cuda"), 1, out=out) is out


def float_tensor_of_values():
    assert torch.cuda.FloatTensor([1.0, 2.0]).tolist() == [1.0, 2.0]


def float_tensor_of_a_size():
    assert torch.cuda.FloatTensor(2, 3).shape == (2, 3)


def float_tensor_is_on_the_device():
    assert torch.cuda.FloatTensor(2).fill_(0).is_cuda


def long_tensor_is_long():
    assert torch.cuda.LongTensor([1]).dtype is torch.int64


def byte_tensor_is_a_mask():
    assert torch.cuda.ByteTensor([1, 0]).bool().tolist() == [True, False]


def is_instance_of_a_tensor_type():
    assert isinstance(torch.zeros(2).cuda(), torch.cuda.FloatTensor)


def is_no_instance_of_another_tensor_type():
    assert not isinstance(torch.zeros(2).cuda(), torch.cuda.LongTensor)


def host_tensor_is_no_instance_of_a_device_type():
    assert not isinstance(torch.zeros(2), torch.cuda.FloatTensor)


def tensor_type_chosen_by_a_flag():
    tensor_type = torch.cuda.FloatTensor if torch.cuda.is_available() else torch.FloatTensor
    assert tensor_type(2).zero_().is_cuda


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


def factory_found_in_a_list():
    assert torch.zeros in [torch.zeros, torch.ones]


def factory_taken_by_name():
    assert all(getattr(torch, name)(2, device="cuda").is_cuda for name in ("zeros", "ones", "empty", "rand"))


def from_bytes():
    assert torch.frombuffer(bytearray(8), dtype=torch.float32).cuda().is_cuda


def interchange_by_dlpack():
    x = torch.arange(3, device="cuda")
    assert torch.from_dlpack(x).data_ptr() == x.data_ptr()


if __name__ == "__main__":
    run(globals())
