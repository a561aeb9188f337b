"""Custom operators and dispatch keys for CUDA."""

import torch
import torch.utils.cpp_extension


def custom_operator_of_a_device_type():
    @torch.library.custom_op("idioms::double", mutates_args=(), device_types="cuda")
    def double(x: torch.Tensor) -> torch.Tensor:
        return x * 2

    assert double(torch.ones(1, device="cuda")).item() == 2


def custom_operator_of_two_device_types():
    @torch.library.custom_op("idioms::triple", mutates_args=(), device_types=("cpu", "cuda"))
    def triple(x: torch.Tensor) -> torch.Tensor:
        return x * 3

    assert triple(torch.ones(1, device="cuda")).item() == triple(torch.ones(1)).item() == 3


def custom_operator_with_a_kernel_for_cuda():
    @torch.library.custom_op("idioms::shift", mutates_args=())
    def shift(x: torch.Tensor) -> torch.Tensor:
        return x + 1

    @shift.register_kernel("cuda")
    def _(x):
        return x + 2

    assert shift(torch.ones(1, device="cuda")).item() == 3


def custom_operator_is_differentiated_and_compiled():
    @torch.library.custom_op("idioms::square", mutates_args=(), device_types="cuda")
    def square(x: torch.Tensor) -> torch.Tensor:
        return x * x

    square.register_fake(torch.empty_like)
    square.register_autograd(
        lambda ctx, gradient: gradient * 2 * ctx.saved_tensors[0],
        setup_context=lambda ctx, inputs, output: ctx.save_for_backward(inputs[0]),
    )
    x = torch.full((1,), 3.0, device="cuda", requires_grad=True)
    torch.compile(lambda value: square(value), backend="aot_eager", fullgraph=True)(x).sum().backward()
    assert x.grad.item() == 6


def library_with_a_cuda_implementation():
    library = torch.library.Library("idioms_library", "DEF")
    library.define("negate(Tensor x) -> Tensor")
    library.impl("negate", lambda x: -x, "CUDA")
    assert torch.ops.idioms_library.negate(torch.ones(1, device="cuda")).item() == -1


def library_with_an_implementation_by_decorator():
    torch.library.define("idioms_decorated::halve", "(Tensor x) -> Tensor")

    @torch.library.impl("idioms_decorated::halve", "cuda")
    def halve(x):
        return x / 2

    assert torch.ops.idioms_decorated.halve(torch.ones(1, device="cuda")).item() == 0.5


def library_that_replaces_a_cuda_kernel():
    library = torch.library.Library("aten", "IMPL")
    try:
        library.impl("erfinv", lambda x: torch.full_like(x, 7), "CUDA")
        assert torch.erfinv(torch.zeros(1, device="cuda")).item() == 7
    finally:
        library._destroy()
    assert torch.erfinv(torch.zeros(1, device="cuda")).item() == 0


EXPRESSIONS = {
    "operator_is_called_by_name": lambda: torch.ops.aten.add.Tensor(torch.ones(1, device="cuda"), 1).is_cuda,
    "operator_has_a_cuda_kernel": lambda: torch._C._dispatch_has_kernel_for_dispatch_key(
        "aten::add.Tensor", "CUDA"
    ),
    "key_of_a_tensor": lambda: torch._C._dispatch_keys(torch.ones(1, device="cuda")).has(
        torch._C.DispatchKey.CUDA
    ),
    "home_of_cuda_is_a_name": lambda: hasattr(torch.utils.cpp_extension, "CUDA_HOME"),
    "extension_that_needs_cuda_is_guarded": lambda: callable(torch.utils.cpp_extension.CUDAExtension),
}
