"""Mixed precision: result dtypes, the gradient scaler, and custom functions."""

import warnings

import torch
import torch.nn as nn
from torch import autocast as autocast_of_torch
from torch.cuda.amp import GradScaler, autocast, custom_bwd, custom_fwd


HALF = (torch.float16, torch.bfloat16)


def _product():
    a = torch.ones(2, 2, device="cuda")
    return a @ a


def _product_under(context):
    with context:
        return _product().dtype


def _step(scaler, gradient=1.0):
    parameter = nn.Parameter(torch.zeros(2, device="cuda"))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    scaler.scale((parameter * gradient).sum()).backward()
    scaler.step(optimizer)
    scaler.update()
    return parameter


def autocast_that_is_off_within_one_that_is_on():
    with torch.autocast("cuda"), torch.autocast("cuda", enabled=False):
        assert _product().dtype is torch.float32


def autocast_ends_with_its_block():
    with autocast():
        pass
    assert _product().dtype is torch.float32


def autocast_keeps_losses_in_single():
    with torch.autocast("cuda"):
        logits = torch.ones(2, 2, device="cuda") @ torch.ones(2, 2, device="cuda")
        target = torch.tensor([0, 1], device="cuda")
        assert nn.functional.cross_entropy(logits, target).dtype is torch.float32


def autocast_keeps_softmax_in_single():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert torch.softmax(_product(), dim=-1).dtype is torch.float32


def autocast_leaves_the_host_alone():
    with torch.autocast("cuda"):
        assert (torch.ones(2, 2) @ torch.ones(2, 2)).dtype is torch.float32


def autocast_of_a_module():
    model = nn.Sequential(nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 1)).cuda()
    with torch.autocast("cuda"):
        output = model(torch.ones(1, 2, device="cuda"))
    output.float().sum().backward()
    assert output.dtype in HALF and model[0].weight.grad.dtype is torch.float32


def autocast_is_a_class():
    assert isinstance(torch.autocast("cuda"), torch.autocast)
    assert isinstance(torch.cuda.amp.autocast(), torch.autocast)


def autocast_is_subclassed():
    class Mixed(torch.autocast):
        def __init__(self):
            super().__init__("cuda", dtype=torch.bfloat16)

    with Mixed():
        assert _product().dtype is torch.bfloat16


def autocast_is_seen():
    assert not torch.is_autocast_enabled()
    with torch.autocast("cuda"):
        assert torch.is_autocast_enabled()


def autocast_is_seen_by_device_type():
    with torch.autocast("cuda"):
        assert torch.is_autocast_enabled("cuda")


def autocast_type_is_seen():
    with torch.autocast("cuda", dtype=torch.bfloat16):
        assert torch.get_autocast_gpu_dtype() is torch.bfloat16
        assert torch.get_autocast_dtype("cuda") is torch.bfloat16


def autocast_warns_only_of_its_age():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        with torch.cuda.amp.autocast():
            _product()
        GradScaler()
    assert {warning.category for warning in caught} <= {FutureWarning}


def scaler_is_on():
    scaler = GradScaler()
    assert scaler.is_enabled() and scaler.get_scale() == 65536.0


def scaler_scales():
    loss = GradScaler(init_scale=8.0).scale(torch.ones((), device="cuda"))
    assert loss.item() == 8.0 and loss.is_cuda


def scaler_backs_off():
    scaler = GradScaler(init_scale=8.0, backoff_factor=0.5)
    _step(scaler, float("nan"))
    assert scaler.get_scale() == 4.0


def scaler_grows():
    scaler = GradScaler(init_scale=8.0, growth_interval=1)
    _step(scaler)
    assert scaler.get_scale() == 16.0


def scaler_unscales_for_clipping():
    scaler, parameter = GradScaler(init_scale=8.0), nn.Parameter(torch.zeros(1, device="cuda"))
    optimizer = torch.optim.SGD([parameter], lr=1.0)
    scaler.scale(parameter.sum() * 10).backward()
    scaler.unscale_(optimizer)
    assert torch.nn.utils.clip_grad_norm_([parameter], 1.0).item() == 10.0


def scaler_that_is_off():
    scaler = torch.cuda.amp.GradScaler(enabled=False)
    assert scaler.get_scale() == 1.0 and _step(scaler).tolist() == [-1.0, -1.0]


def scaler_is_saved():
    scaler = GradScaler(init_scale=8.0)
    _step(scaler)
    other = GradScaler()
    other.load_state_dict(scaler.state_dict())
    assert other.get_scale() == 8.0


def custom_function_runs_in_single():
    class Double(torch.autograd.Function):
        @staticmethod
        @custom_fwd(cast_inputs=torch.float32)
        def forward(ctx, x):
            assert not torch.is_autocast_enabled()
            return x * 2

        @staticmethod
        @custom_bwd
        def backward(ctx, gradient):
            return gradient * 2

    with autocast():
        x = torch.ones(2, dtype=torch.float16, device="cuda", requires_grad=True)
        assert Double.apply(x).dtype is torch.float32


def custom_function_of_a_device_type():
    class Double(torch.autograd.Function):
        @staticmethod
        @torch.amp.custom_fwd(device_type="cuda", cast_inputs=torch.float16)
        def forward(ctx, x):
            return x * 2

        @staticmethod
        @torch.amp.custom_bwd(device_type="cuda")
        def backward(ctx, gradient):
            return gradient * 2

    x = torch.ones(2, device="cuda", requires_grad=True)
    with torch.autocast("cuda"):
        y = Double.apply(x)
    y.sum().backward()
    assert y.dtype is torch.float16 and x.grad.dtype is torch.float32


def custom_function_keeps_autocast_in_backward():
    seen = []

    class Product(torch.autograd.Function):
        @staticmethod
        @custom_fwd
        def forward(ctx, x):
            return x * 1

        @staticmethod
        @custom_bwd
        def backward(ctx, gradient):
            seen.append(_product().dtype)
            return gradient

    x = torch.ones(2, device="cuda", requires_grad=True)
    with autocast():
        y = Product.apply(x)
    y.sum().backward()
    assert seen[0] in HALF


EXPRESSIONS = {
    "autocast_of_cuda": lambda: _product_under(torch.cuda.amp.autocast()) in HALF,
    "autocast_of_cuda_that_is_off": lambda: (
        _product_under(torch.cuda.amp.autocast(enabled=False)) is torch.float32
    ),
    "autocast_of_cuda_with_a_type": lambda: _product_under(autocast(dtype=torch.bfloat16)) is torch.bfloat16,
    "autocast_of_torch_by_position": lambda: _product_under(torch.autocast("cuda")) in HALF,
    "autocast_of_torch_by_keyword": lambda: (
        _product_under(torch.autocast(device_type="cuda", dtype=torch.float16)) is torch.float16
    ),
    "autocast_of_torch_with_a_type_by_position": lambda: (
        _product_under(torch.autocast("cuda", torch.bfloat16)) is torch.bfloat16
    ),
    "autocast_of_amp": lambda: _product_under(torch.amp.autocast("cuda")) in HALF,
    "autocast_of_amp_with_a_type": lambda: (
        _product_under(
            torch.amp.autocast(device_type="cuda", dtype=torch.bfloat16, enabled=True, cache_enabled=False)
        )
        is torch.bfloat16
    ),
    "autocast_bound_early": lambda: (
        _product_under(autocast_of_torch("cuda", dtype=torch.bfloat16)) is torch.bfloat16
    ),
    "autocast_of_a_tensors_device": lambda: (
        _product_under(torch.autocast(torch.zeros(1, device="cuda").device.type, dtype=torch.bfloat16))
        is torch.bfloat16
    ),
    "autocast_default_is_half": lambda: _product_under(torch.autocast("cuda")) is torch.float16,
    "autocast_as_a_decorator": lambda: torch.autocast("cuda")(_product)().dtype in HALF,
    "autocast_of_cuda_as_a_decorator": lambda: autocast()(_product)().dtype in HALF,
    "autocast_is_available": lambda: torch.amp.is_autocast_available("cuda"),
    "bfloat16_is_supported": lambda: torch.cuda.is_bf16_supported(),
    "bfloat16_is_supported_without_emulation": lambda: (
        torch.cuda.is_bf16_supported(including_emulation=False) in (True, False)
    ),
    "tf32_is_supported": lambda: torch.cuda.is_tf32_supported() in (True, False),
    "scaler_of_amp": lambda: torch.amp.GradScaler("cuda").is_enabled(),
    "scaler_of_amp_without_device": lambda: torch.amp.GradScaler(init_scale=4.0).get_scale() == 4.0,
    "scaler_of_cuda_is_that_of_amp": lambda: isinstance(torch.cuda.amp.GradScaler(), torch.amp.GradScaler),
    "scaler_steps": lambda: _step(GradScaler(init_scale=8.0)).tolist() == [-1.0, -1.0],
    "scaler_skips_what_overflows": lambda: (
        _step(GradScaler(init_scale=8.0), float("inf")).tolist() == [0.0, 0.0]
    ),
}
