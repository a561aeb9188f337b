"""apex.amp: training at every level as by hand, and everything around it."""

from __future__ import annotations

import contextlib
import io
import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

from tests.apex.mixed import by_amp, by_hand, initialized, network, sgd

LEVELS = ("O0", "O1", "O2", "O3")


def linear(value: float = 0.5) -> nn.Linear:
    module = nn.Linear(4, 2, bias=False).cuda()
    nn.init.constant_(module.weight, value)
    return module


def optimizer_of(model: nn.Module, lr: float = 1.0) -> torch.optim.SGD:
    return torch.optim.SGD(model.parameters(), lr=lr)


@pytest.mark.parametrize("level", LEVELS)
def test_training(level: str) -> None:
    scale = 256.0 if level in ("O1", "O2") else 1.0
    expected = by_hand(level, scale)
    with initialized(network(), None, opt_level=level, loss_scale=scale) as model:
        assert isinstance(model, nn.Module)  # no optimizers, no pair
    model = network()
    with initialized(model, sgd(model.parameters()), opt_level=level, loss_scale=scale) as (model, optimizer):
        by_amp(model, optimizer)
    tolerance = 1e-5 if level == "O0" else 2e-3
    for (name, ours), theirs in zip(model.named_parameters(), expected.parameters(), strict=True):
        assert ours.dtype == theirs.dtype, name
        assert_close(ours, theirs, rtol=tolerance, atol=tolerance)


def test_dtypes_of_the_levels() -> None:
    input = torch.randn(5, 6, device="cuda")
    for level, of_weights, of_norm in (
        ("O0", torch.float32, torch.float32),
        ("O1", torch.float32, torch.float32),
        ("O2", torch.float16, torch.float32),
        ("O3", torch.float16, torch.float16),
    ):
        model = network()
        with initialized(model, sgd(model.parameters()), opt_level=level) as (model, _):
            assert model.first.weight.dtype == of_weights
            assert model.norm.weight.dtype == model.norm.running_mean.dtype == of_norm
            assert model(input).dtype == (torch.float16 if level == "O1" else torch.float32)
            assert all(value.dtype != torch.float16 for value in model.state_dict().values())


def test_options_beside_the_level() -> None:
    input = torch.randn(5, 6, device="cuda")
    with initialized(network(), opt_level="O2", keep_batchnorm_fp32="False") as model:
        assert model.norm.weight.dtype == torch.float16
    with initialized(network(), opt_level="O3", keep_batchnorm_fp32=True) as model:
        assert model.norm.weight.dtype == torch.float32
    with initialized(network(), opt_level="O2", cast_model_outputs=torch.float16) as model:
        assert model(input).dtype == torch.float16
    with initialized(network(), opt_level="O0", cast_model_type=torch.bfloat16) as model:
        assert model.first.weight.dtype == torch.bfloat16
    model = network()
    with initialized(model, sgd(model.parameters()), enabled=False) as (same, optimizer):
        assert same is model
        with torch.no_grad():
            assert model(input).dtype == torch.float32
        from apex import amp

        loss = torch.ones(())
        with amp.scale_loss(loss, optimizer) as scaled:
            assert scaled is loss


def test_inputs_of_all_kinds_are_cast() -> None:
    class Picky(nn.Module):
        def forward(self, tensor: Tensor, *, nested: dict[str, Any], text: str) -> dict[str, Any]:
            assert tensor.dtype == nested["deep"][0].dtype == torch.float16
            assert nested["count"].dtype == torch.int64
            assert text == "as it is"
            return {"out": (tensor, nested["count"])}

    ones = torch.ones(2, device="cuda")
    with initialized(Picky(), opt_level="O3") as model:
        nested = {"deep": [ones], "count": ones.long()}
        out, count = model(ones, nested=nested, text="as it is")["out"]
        assert (out.dtype, count.dtype) == (torch.float32, torch.int64)


def test_several_models_optimizers_and_losses() -> None:
    from apex import amp

    models = [linear(), linear()]
    optimizers = [optimizer_of(each) for each in models]
    with initialized(models, optimizers, opt_level="O2", num_losses=2, loss_scale=8.0) as (ours, theirs):
        assert isinstance(ours, list)
        assert isinstance(theirs, list)
        ones = torch.ones(1, 4, device="cuda")
        for index in (0, 1):
            loss = ours[0](ones).sum() + ours[1](ones).sum() * 3
            with amp.scale_loss(loss, theirs, loss_id=index) as scaled:
                assert_close(scaled, loss.float() * 8)
                scaled.backward()
        grads = [param.grad.unique().tolist() for each in theirs for param in amp.master_params(each)]
        assert grads == [[2.0], [6.0]]
        for each in theirs:
            each.step()
        assert_close(ours[1].weight.float(), torch.full_like(ours[1].weight.float(), 0.5 - 6))
        assert len(amp.state_dict()) == 2


@pytest.mark.parametrize("level", LEVELS)
def test_gradients_that_stay_scaled_are_added(level: str) -> None:
    from apex import amp

    model = linear()
    with initialized(model, optimizer_of(model), opt_level=level, loss_scale=4.0) as (model, optimizer):
        ones = torch.ones(1, 4, device="cuda")
        for index in range(3):
            with amp.scale_loss(model(ones).sum(), optimizer, delay_unscale=index < 2) as scaled:
                scaled.backward()
        assert [param.grad.unique().tolist() for param in amp.master_params(optimizer)] == [[3.0]]
        optimizer.step()
        assert_close(model.weight.float(), torch.full((2, 4), 0.5 - 3, device="cuda"))
        optimizer.zero_grad()
        with amp.scale_loss(model(ones).sum(), optimizer) as scaled:
            scaled.backward()
        with amp.scale_loss(model(ones).sum(), optimizer) as scaled:  # no zero_grad(): they add up
            scaled.backward()
        assert [param.grad.unique().tolist() for param in amp.master_params(optimizer)] == [[2.0]]


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_an_overflow_skips_the_step_and_halves_the_scale(level: str, bad: float) -> None:
    from apex import amp

    model = linear()
    with initialized(model, optimizer_of(model), opt_level=level) as (model, optimizer):
        scaler = amp._amp_state.loss_scalers[0]
        assert scaler.loss_scale() == 2.0**16
        before = model.weight.detach().clone()
        for factor in (bad, 1.0):
            loss = model(torch.ones(1, 4, device="cuda")).sum() * factor
            with amp.scale_loss(loss, optimizer) as scaled:
                scaled.backward()
            optimizer.step()
            optimizer.zero_grad()
            assert torch.equal(model.weight, before) == (factor != 1.0)
        assert scaler.loss_scale() == 2.0**15


def test_the_scale_stays_within_its_bounds() -> None:
    from apex import amp

    model = linear()
    options = {"opt_level": "O2", "min_loss_scale": 2.0**15, "max_loss_scale": 2.0**17}
    with initialized(model, optimizer_of(model, lr=0.0), **options) as (model, optimizer):
        scaler = amp._amp_state.loss_scalers[0]
        scaler._scale_seq_len = 2
        seen = []
        for factor in (math.inf, math.inf, *(1.0,) * 8):
            loss = model(torch.ones(1, 4, device="cuda")).sum() * 1e-3 * factor
            with amp.scale_loss(loss, optimizer) as scaled:
                scaled.backward()
            optimizer.step()
            optimizer.zero_grad()
            seen.append(math.log2(scaler.loss_scale()))
        assert seen == [15, 15, 15, 16, 16, 17, 17, 17, 17, 17]


def test_saving_and_loading() -> None:
    from apex import amp

    written_by_apex = {
        "loss_scaler0": {"loss_scale": 1024.0, "unskipped": 7},
        "loss_scaler1": {"loss_scale": 64.0, "unskipped": 0},
    }
    with initialized(network(), opt_level="O1", num_losses=2):
        amp.load_state_dict(written_by_apex)
        assert amp.state_dict() == written_by_apex
        filled: dict[str, Any] = {}
        assert amp.state_dict(filled) is filled
        with pytest.raises(RuntimeError, match='Unexpected key\\(s\\) in state_dict: "other"'):
            amp.load_state_dict({**written_by_apex, "other": {}})
        amp.load_state_dict({"loss_scaler0": {"loss_scale": 2.0, "unskipped": 1}})
        assert amp.state_dict()["loss_scaler0"] == {"loss_scale": 2.0, "unskipped": 1}


def test_a_checkpoint_continues_the_run() -> None:
    from apex import amp

    def trained(rounds: int, checkpoint: bytes | None) -> tuple[list[Tensor], bytes]:
        model = network()
        with initialized(model, sgd(model.parameters()), opt_level="O2") as (model, optimizer):
            if checkpoint:
                saved = torch.load(io.BytesIO(checkpoint))
                model.load_state_dict(saved["model"])
                optimizer.load_state_dict(saved["optimizer"])
                amp.load_state_dict(saved["amp"])
            for _ in range(rounds):
                by_amp(model, optimizer)
            written = io.BytesIO()
            state = {
                "model": model.state_dict(),
                "optimizer": optimizer.state_dict(),
                "amp": amp.state_dict(),
            }
            torch.save(state, written)
            return [param.detach().clone() for param in model.parameters()], written.getvalue()

    whole, _ = trained(2, None)
    _, checkpoint = trained(1, None)
    continued, _ = trained(1, checkpoint)
    for ours, theirs in zip(continued, whole, strict=True):
        assert_close(ours, theirs, rtol=5e-3, atol=2e-3)  # masters start from the saved float16 weights


def test_groups_that_are_added_later() -> None:
    from apex import amp

    for level in ("O1", "O2"):
        first, second = linear(), linear()
        with initialized([first, second], optimizer_of(first), opt_level=level, loss_scale=2.0) as (
            _,
            optimizer,
        ):
            optimizer.add_param_group({"params": second.parameters()})
            loss = (first(torch.ones(1, 4, device="cuda")) + second(torch.ones(1, 4, device="cuda"))).sum()
            with amp.scale_loss(loss, optimizer) as scaled:
                scaled.backward()
            optimizer.step()
            for module in (first, second):
                assert_close(module.weight.float(), torch.full((2, 4), -0.5, device="cuda"))
            assert all(param.dtype == torch.float32 for param in amp.master_params(optimizer))


@pytest.mark.parametrize("materialize", [True, False])
def test_fused_sgd_with_and_without_master_gradients(materialize: bool) -> None:
    from apex.optimizers import FusedSGD

    expected = by_hand("O2", 256.0)
    model = network()
    options = {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-3, "materialize_master_grads": materialize}
    optimizer = FusedSGD(model.parameters(), **options)
    with initialized(model, optimizer, opt_level="O2", loss_scale=256.0) as (model, optimizer):
        by_amp(model, optimizer)
    for ours, theirs in zip(model.parameters(), expected.parameters(), strict=True):
        assert_close(ours, theirs, rtol=2e-3, atol=2e-3)


def test_layerwise_rates_go_with_amp() -> None:
    from apex import amp
    from apex.parallel.LARC import LARC

    model = linear()
    with initialized(model, LARC(optimizer_of(model)), opt_level="O2", loss_scale=8.0) as (model, optimizer):
        with amp.scale_loss(model(torch.ones(1, 4, device="cuda")).sum(), optimizer) as scaled:
            scaled.backward()
        optimizer.step()
        assert_close(model.weight.float(), torch.full((2, 4), 0.49, device="cuda"), rtol=1e-3, atol=1e-3)


def test_functions_under_casts() -> None:
    from apex import amp

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


def test_weights_are_cast_anew_in_every_step() -> None:
    from apex import amp

    model = linear()
    ones = torch.ones(1, 4, device="cuda")
    with initialized(model, optimizer_of(model), opt_level="O1", loss_scale=1.0) as (model, optimizer):
        with torch.no_grad():
            assert model(ones).tolist() == [[2.0, 2.0]]
        with amp.scale_loss(model(ones).sum(), optimizer) as scaled:
            scaled.backward()
        assert model.weight.grad is not None
        optimizer.step()
        assert model(ones).tolist() == [[-2.0, -2.0]]


def test_functions_of_the_program() -> None:
    from apex import amp

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


def test_the_first_interface() -> None:
    from apex import amp

    handle = amp.init(enabled=False)
    wrapped = handle.wrap_optimizer(optimizer_of(linear()))
    with wrapped.scale_loss(torch.ones(())) as same:
        assert same.item() == 1
    model = linear()
    handle = amp.init()
    try:
        wrapped = handle.wrap_optimizer(optimizer_of(model), num_loss=2)
        for scaler in wrapped._loss_scaler:
            scaler._loss_scale = 8.0
        for factor in (1.0, 2.0):
            with wrapped.scale_loss(model(torch.ones(1, 4, device="cuda")).sum() * factor) as scaled:
                scaled.backward()
        assert model.weight.grad.unique().tolist() == [3.0]
        wrapped.step()
        assert model.weight.unique().tolist() == [-2.5]
        with pytest.raises(RuntimeError, match="old Amp API is no longer supported"):
            handle.scale_loss(torch.ones(()), None)
    finally:
        handle._deactivate()


def test_what_is_said() -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), initialized(linear(), opt_level="O2", verbosity=1):
        assert "Selected optimization level O2" in said.getvalue()
        assert "keep_batchnorm_fp32    : True" in said.getvalue()


def test_refusals() -> None:
    from apex import amp
    from apex.fp16_utils import FP16_Optimizer

    model = linear()
    for options, message in (
        ({"opt_level": "02"}, "Unexpected optimization level 02"),
        ({"opt_level": "O1", "cast_model_type": torch.float16}, "cast_model_type was torch.float16"),
        ({"opt_level": "O1", "keep_batchnorm_fp32": True}, "keep_batchnorm_fp32 was True"),
        ({"opt_level": "O1", "master_weights": True}, "master_weights"),
        ({"opt_level": "O2", "patch_torch_functions": True}, "patch_torch_functions=True"),
    ):
        with pytest.raises(RuntimeError, match=message):
            amp.initialize(model, verbosity=0, **options)
    with pytest.raises(AssertionError, match="keep_batchnorm_fp32 must be a boolean"):
        amp.initialize(model, opt_level="O2", keep_batchnorm_fp32="no", verbosity=0)
    for models, optimizers, error, message in (
        ((model,), None, TypeError, "models must be either"),
        (model, (), TypeError, "optimizers must be either"),
        (nn.DataParallel(model), None, RuntimeError, "instance of torch.nn.parallel.DataParallel"),
        (linear().half(), None, RuntimeError, "Found param weight with type"),
        (
            model,
            [FP16_Optimizer(optimizer_of(linear()), verbose=False)],
            RuntimeError,
            "fp16_utils.FP16_Optimizer",
        ),
    ):
        with pytest.raises(error, match=message):
            amp.initialize(models, optimizers, opt_level="O2", verbosity=0)
    optimizer = optimizer_of(model)
    with initialized(model, optimizer, opt_level="O2"):
        with pytest.raises(RuntimeError, match="should only be passed through amp.initialize once"):
            amp.initialize(linear(), optimizer, opt_level="O2", verbosity=0)
        with pytest.raises(RuntimeError, match="does not support closure use"):
            optimizer.step(lambda: None)


@pytest.mark.platforms("npu", "simulated-xpu")
def test_models_elsewhere_are_refused() -> None:
    from apex import amp

    with pytest.raises(RuntimeError, match="Found param weight with type torch.FloatTensor"):
        amp.initialize(nn.Linear(2, 2), opt_level="O2", verbosity=0)
