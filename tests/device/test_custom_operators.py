"""Kernels that a program registers for CUDA."""

import itertools

import pytest
import torch
from torch.library import Library, custom_op

from tests.platforms import ACCELERATORS, Platform

names = (f"morph_tests::operator_{number}" for number in itertools.count())


def both(operator: object) -> tuple[float, float]:
    assert callable(operator)
    return operator(torch.ones(1, device="cuda")).item(), operator(torch.ones(1)).item()


def plus(number: int) -> object:
    def add(tensor: torch.Tensor) -> torch.Tensor:
        return tensor + number

    return add


def test_an_operator_for_cuda_runs_eagerly_and_traced() -> None:
    @custom_op(next(names), mutates_args=(), device_types="cuda")
    def increment(tensor: torch.Tensor) -> torch.Tensor:
        return tensor + 1

    increment.register_fake(torch.empty_like)
    tensor = torch.ones(2, device="cuda")
    assert increment(tensor).tolist() == [2, 2]
    with pytest.raises(NotImplementedError):
        increment(tensor.cpu())
    assert torch.compile(increment, backend="aot_eager", fullgraph=True)(tensor).tolist() == [2, 2]
    checks = torch.library.opcheck(increment, (torch.randn(3, device="cuda"),))
    assert set(checks.values()) == {"SUCCESS"}


def test_a_kernel_for_cuda_beside_one_for_the_cpu() -> None:
    for first, second in (("cpu", "cuda"), ("cuda", "cpu")):
        operator = custom_op(
            next(names), plus(1), mutates_args=(), device_types=first, schema="(Tensor x) -> Tensor"
        )
        operator.register_kernel(second, plus(2))
        for_cpu = 1 if first == "cpu" else 2
        assert both(operator) == (4 - for_cpu, 1 + for_cpu)


def test_a_kernel_for_cuda_beside_one_for_every_device() -> None:
    operator = custom_op(next(names), plus(1), mutates_args=(), schema="(Tensor x) -> Tensor")
    operator.register_kernel("cuda", plus(2))
    assert both(operator) == (3, 2)


def test_an_operator_without_tensors() -> None:
    @custom_op(next(names), mutates_args=(), device_types="cuda")
    def ones(count: int, device: torch.device) -> torch.Tensor:
        return torch.ones(count, device=device)

    for device in ("cuda", torch.device("cuda:0")):
        assert ones(2, device).is_cuda


def test_libraries() -> None:
    library = Library("morph_tests_library", "DEF")
    for name in ("cuda_only", "cpu_first", "cuda_first"):
        library.define(f"{name}(Tensor x) -> Tensor")
    operators = torch.ops.morph_tests_library
    library.impl("cuda_only", plus(1), "CUDA")
    assert operators.cuda_only(torch.ones(1, device="cuda")).item() == 2
    for name, keys in {"cpu_first": ("CPU", "CUDA"), "cuda_first": ("CUDA", "CPU")}.items():
        for key in keys:
            library.impl(name, plus(1 if key == "CPU" else 2), key)
        assert both(getattr(operators, name)) == (3, 2)


def test_a_library_for_cuda() -> None:
    torch.library.define("morph_tests_keyed::plus", "(Tensor x) -> Tensor")
    library = Library("morph_tests_keyed", "IMPL", "CUDA")
    library.impl("plus", plus(1))
    assert torch.ops.morph_tests_keyed.plus(torch.ones(1, device="cuda")).item() == 2


def test_functions_of_torch_library() -> None:
    for number, register in enumerate((torch.library.impl, torch.library.register_kernel)):
        name = f"morph_tests_functions::operator_{number}"
        torch.library.define(name, "(Tensor x) -> Tensor")
        register(name, "cuda", plus(1))
        operator = getattr(torch.ops.morph_tests_functions, f"operator_{number}")
        assert operator(torch.ones(1, device="cuda")).item() == 2


def test_autograd_kernels() -> None:
    library = Library("morph_tests_autograd", "DEF")
    library.define("scale(Tensor x) -> Tensor")
    library.impl("scale", lambda tensor: tensor * 2, "CUDA")
    library.impl("scale", lambda tensor: tensor * 3, "AutogradCUDA")
    scale = torch.ops.morph_tests_autograd.scale
    assert scale(torch.ones(1, device="cuda", requires_grad=True)).item() == 3


def test_autocast_of_an_operator() -> None:
    operator = custom_op(next(names), torch.clone, mutates_args=(), schema="(Tensor x) -> Tensor")
    operator.register_autocast("cuda", torch.bfloat16)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert operator(torch.ones(1, device="cuda")).dtype is torch.bfloat16


@pytest.mark.platforms(*ACCELERATORS)
@pytest.mark.parametrize("keys", [("CUDA", "own"), ("own", "CUDA")])
def test_a_kernel_for_the_device_itself_comes_before_one_for_cuda(
    keys: tuple[str, str], platform: Platform
) -> None:
    own = torch._C._dispatch_key_for_device(platform.device_type)
    name = next(names)
    namespace, _, operator = name.partition("::")
    library = Library(namespace, "FRAGMENT")
    library.define(f"{operator}(Tensor x) -> Tensor")
    kernels = {"CUDA": plus(1), "own": plus(2)}
    for key in keys:
        library.impl(operator, kernels[key], own if key == "own" else key)
    found = getattr(getattr(torch.ops, namespace), operator)(torch.ones(1, device="cuda"))
    assert found.item() == 3
    library._destroy()
