"""apex.amp: the casts of O1, and casts of the program's own functions."""

import pytest
import torch
from torch.nn import functional as F

from tests.apex.mixed import backward, initialized, linear, optimizer_of
from tests.later import Later

amp = Later("apex.amp")


def test_functions_under_casts() -> None:
    with initialized(linear(), opt_level="O1"):
        half, full = torch.full((3, 3), 300.0, device="cuda").half(), torch.ones(3, 3, device="cuda")
        assert F.linear(full, full).dtype == torch.float16
        assert (full @ full).dtype == torch.float16
        for function in (torch.exp, torch.log, torch.sum, torch.prod, lambda x: x.pow(2), lambda x: x**2):
            assert function(half).dtype == torch.float32
        assert F.softmax(half, 1).dtype == F.mse_loss(half, half).dtype == torch.float32
        assert half.neg().dtype == torch.float16
        assert half.pow(2).sum().isfinite()
        assert (half + full).dtype == torch.cat([half, full]).dtype == torch.float32
        with amp.disable_casts():
            assert F.linear(full, full).dtype == torch.float32
            assert torch.exp(half).dtype == torch.float16
        assert F.linear(full, full).dtype == torch.float16
    assert F.linear(full, full).dtype == torch.float32
    assert torch.exp(half).dtype == torch.float16


def test_what_apex_does_beyond_autocast() -> None:
    half, full = torch.full((3,), 0.5, device="cuda").half(), torch.full((3,), 0.5, device="cuda")
    with initialized(linear(), opt_level="O1"):
        assert half.cpu().dtype == torch.float32
        assert half.clone().neg_().dtype == torch.float16
        with pytest.raises(NotImplementedError, match="exp_ is computed in float32"):
            half.exp_()
        assert full.clone().exp_().dtype == torch.float32
        with pytest.raises(NotImplementedError, match="allow_banned"):
            F.binary_cross_entropy(half, full)
        assert torch.nn.BCELoss()(full, full).item() == pytest.approx(0.6931, abs=1e-4)
        with amp.disable_casts():
            assert half.cpu().dtype == torch.float16
    assert half.cpu().dtype == half.exp_().dtype == torch.float16
    handle = amp.init(allow_banned=True)
    try:
        assert F.binary_cross_entropy(full.half(), full).dtype == torch.float32
    finally:
        handle._deactivate()


def test_weights_are_cast_anew_in_every_step() -> None:
    model = linear()
    ones = torch.ones(1, 4, device="cuda")
    with initialized(model, optimizer_of(model), opt_level="O1", loss_scale=1.0) as (model, optimizer):
        with torch.no_grad():
            assert model(ones).tolist() == [[2.0, 2.0]]
        backward(model(ones).sum(), optimizer)
        assert model.weight.grad is not None
        optimizer.step()
        assert model(ones).tolist() == [[-2.0, -2.0]]


def test_functions_of_the_program() -> None:
    class module:
        doubled = staticmethod(lambda x: x * 2)
        halved = staticmethod(lambda x: x / 2)
        added = staticmethod(lambda x, y: x.dtype)

    decorated = [amp.half_function(torch.neg), amp.float_function(torch.neg), amp.promote_function(torch.cat)]
    half, full = torch.ones(2, device="cuda").half(), torch.ones(2, device="cuda")
    amp.register_half_function(module, "doubled")
    amp.register_float_function(module, "halved")
    amp.register_promote_function(module, "added")
    with pytest.raises(ValueError, match="No function named absent in module"):
        amp.register_half_function(module, "absent")
    assert decorated[0](full).dtype == torch.float32
    with initialized(linear(), opt_level="O1"):
        assert decorated[0](full).dtype == torch.float16
        assert decorated[1](half).dtype == torch.float32
        assert decorated[2]([half, full]).dtype == torch.float32
        assert module.doubled(full).dtype == torch.float16
        assert module.halved(half).dtype == torch.float32
        assert module.added(half, full) == torch.float32
        assert module.added(half, half) == torch.float16
        with pytest.raises(NotImplementedError, match="types to promote"):
            module.added(half, torch.ones(2, device="cuda").bfloat16())
    assert module.doubled(full).dtype == torch.float32
