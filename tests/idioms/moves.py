"""Moves of tensors, modules and storages between the host and the devices."""

import collections
import copy

import torch
import torch.nn as nn

from idiom import refusal


def cuda_of_what_is_there_is_itself():
    x = torch.zeros(2, device="cuda")
    assert x.cuda() is x and x.to("cuda") is x


def cuda_leaves_the_host_tensor_alone():
    host = torch.zeros(2)
    device = host.cuda()
    device += 1
    assert host.tolist() == [0, 0] and device.tolist() == [1, 1]


def to_leaves_the_host_tensor_alone():
    host = torch.zeros(2)
    host.to("cuda").fill_(1)
    assert host.sum() == 0


def cpu_leaves_the_device_tensor_alone():
    x = torch.zeros(2, device="cuda")
    x.cpu().fill_(1)
    assert x.sum().item() == 0


def to_a_device_and_a_type():
    x = torch.zeros(2).to("cuda", torch.float16)
    assert x.is_cuda and x.dtype is torch.float16


def back_and_forth():
    x = torch.arange(6).reshape(2, 3)
    assert torch.equal(x.cuda().t().cpu(), x.t())


def between_devices():
    x = torch.arange(4, device="cuda:0").to("cuda:1")
    assert x.get_device() == 1 and x.tolist() == [0, 1, 2, 3]


def copy_from_the_host():
    x = torch.empty(3, device="cuda")
    x.copy_(torch.ones(3), non_blocking=True)
    assert x.sum().item() == 3


def module_to_a_device_and_a_type():
    module = nn.Linear(2, 2).to(torch.device("cuda"), torch.float16)
    assert module.weight.is_cuda and module.weight.dtype is torch.float16


def module_moves_in_place():
    module = nn.Sequential(nn.Linear(2, 2), nn.BatchNorm1d(2))
    assert module.cuda() is module
    assert all(value.is_cuda for value in module.state_dict().values())


def parameter_stays_a_parameter():
    module = nn.Linear(2, 2).cuda()
    assert isinstance(module.weight, nn.Parameter) and module.weight.is_leaf


def gradient_is_on_the_device():
    x = torch.ones(2, device="cuda", requires_grad=True)
    (x * x).sum().backward()
    assert x.grad.is_cuda and x.grad.tolist() == [2, 2]


def gradient_flows_through_a_move():
    x = torch.ones(2, requires_grad=True)
    x.cuda().sum().backward()
    assert x.grad.device == torch.device("cpu")


def device_tensor_is_deep_copied():
    x = torch.ones(2, device="cuda")
    assert copy.deepcopy(x).device == x.device and copy.deepcopy(x) is not x


def storage_moves():
    storage = torch.UntypedStorage(8).cuda()
    assert storage.is_cuda and storage.device.type == "cuda" and storage.nbytes() == 8


def named_tuple_of_tensors_moves():
    Batch = collections.namedtuple("Batch", "x y")
    batch = Batch(torch.zeros(1), torch.ones(1))
    assert all(value.is_cuda for value in Batch(*(value.cuda(non_blocking=True) for value in batch)))


EXPRESSIONS = {
    "module_back_to_the_cpu": lambda: nn.Linear(2, 2).cuda().cpu().weight.device.type == "cpu",
    "module_to_empty": lambda: nn.Linear(2, 2, device="meta").to_empty(device="cuda").weight.is_cuda,
    "cuda": lambda: torch.zeros(2).cuda().is_cuda,
    "cuda_with_a_number": lambda: torch.zeros(2).cuda(0).get_device() == 0,
    "cuda_with_the_second_number": lambda: torch.zeros(2).cuda(1).device == torch.device("cuda:1"),
    "cuda_with_a_device": lambda: (
        torch.zeros(2).cuda(torch.device("cuda:0")).device == torch.device("cuda", 0)
    ),
    "cuda_with_a_string": lambda: torch.zeros(2).cuda("cuda:0").is_cuda,
    "cuda_with_keywords": lambda: torch.zeros(2).cuda(device=0, non_blocking=True).is_cuda,
    "to_a_string": lambda: torch.zeros(2).to("cuda").is_cuda,
    "to_a_string_with_index": lambda: torch.zeros(2).to("cuda:0").get_device() == 0,
    "to_a_device": lambda: torch.zeros(2).to(torch.device("cuda")).is_cuda,
    "to_a_number": lambda: torch.zeros(2).to(0).device == torch.device("cuda:0"),
    "to_the_second_number": lambda: torch.zeros(2).to(1).device == torch.device("cuda:1"),
    "to_a_device_by_keyword": lambda: (
        torch.zeros(2).to(device="cuda", dtype=torch.int32, non_blocking=True, copy=True).is_cuda
    ),
    "to_another_tensor": lambda: torch.zeros(2).to(torch.zeros(1, device="cuda")).is_cuda,
    "to_the_cpu": lambda: not torch.zeros(2, device="cuda").to("cpu").is_cuda,
    "cpu": lambda: torch.zeros(2, device="cuda").cpu().device == torch.device("cpu"),
    "numpy_of_a_copy": lambda: torch.ones(2).cuda().cpu().numpy().sum() == 2,
    "item_and_list": lambda: (
        torch.tensor(3).cuda().item() == 3 and torch.ones(2).cuda().tolist() == [1.0, 1.0]
    ),
    "type_by_string": lambda: torch.zeros(2).type("torch.cuda.FloatTensor").is_cuda,
    "type_by_class": lambda: torch.zeros(2).type(torch.cuda.HalfTensor).dtype is torch.float16,
    "type_of_a_device_tensor": lambda: torch.zeros(2).cuda().type() == "torch.cuda.FloatTensor",
    "type_of_a_long_device_tensor": lambda: torch.arange(2).cuda().type() == "torch.cuda.LongTensor",
    "type_as_a_device_tensor": lambda: torch.zeros(2).type_as(torch.zeros(1, device="cuda")).is_cuda,
    "module_cuda": lambda: next(nn.Linear(2, 2).cuda().parameters()).is_cuda,
    "module_cuda_with_a_number": lambda: all(
        parameter.get_device() == 1 for parameter in nn.Linear(2, 2).cuda(1).parameters()
    ),
    "module_to_a_string": lambda: nn.Linear(2, 2).to("cuda").weight.is_cuda,
    "module_to_a_number": lambda: nn.Linear(2, 2).to(0).weight.device == torch.device("cuda:0"),
    "moved_tensor_is_no_leaf": lambda: not torch.ones(2, requires_grad=True).cuda().is_leaf,
    "pinned_memory": lambda: torch.zeros(2).pin_memory().is_pinned(),
    "pinned_memory_moves": lambda: torch.ones(2).pin_memory().cuda(non_blocking=True).sum().item() == 2,
    "pinned_by_the_factory": lambda: torch.empty(4, pin_memory=True).is_pinned(),
    "pinned_for_a_device": lambda: torch.ones(2).pin_memory("cuda").is_pinned(),
    "number_mixes_with_a_device_tensor": lambda: (torch.ones(2, device="cuda") + torch.tensor(1.0)).is_cuda,
    "storage_is_on_the_device": lambda: torch.zeros(2).cuda().untyped_storage().is_cuda,
    "storage_of_the_host_is_not": lambda: not torch.zeros(2).untyped_storage().is_cuda,
    "typed_storage_moves": lambda: torch.zeros(2).storage().cuda().is_cuda,
    "numpy_of_a_device_tensor_is_refused": lambda: (
        "convert" in refusal(torch.ones(2).cuda().numpy, TypeError)
    ),
    "operands_on_two_devices_are_refused": lambda: (
        "device" in refusal(lambda: torch.zeros(2, device="cuda") + torch.zeros(2), RuntimeError)
    ),
}
