"""apex.amp: loss scaling, its state, and how optimizers handle the gradients."""

import io
import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tests.apex.mixed import backward, by_amp, by_hand, initialized, linear, network, optimizer_of, sgd
from tests.later import Later

amp = Later("apex.amp")
LossScaler = Later("apex.amp.scaler", "LossScaler")
FusedSGD = Later("apex.optimizers", "FusedSGD")
LARC = Later("apex.parallel.LARC", "LARC")


LEVELS = ("O0", "O1", "O2", "O3")


def test_several_models_optimizers_and_losses() -> None:
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
    model = linear()
    with initialized(model, optimizer_of(model), opt_level=level, loss_scale=4.0) as (model, optimizer):
        ones = torch.ones(1, 4, device="cuda")
        for index in range(3):
            backward(model(ones).sum(), optimizer, delay_unscale=index < 2)
        assert [param.grad.unique().tolist() for param in amp.master_params(optimizer)] == [[3.0]]
        optimizer.step()
        assert_close(model.weight.float(), torch.full((2, 4), 0.5 - 3, device="cuda"))
        optimizer.zero_grad()
        backward(model(ones).sum(), optimizer)
        backward(model(ones).sum(), optimizer)  # gradients accumulate
        assert [param.grad.unique().tolist() for param in amp.master_params(optimizer)] == [[2.0]]


@pytest.mark.parametrize("level", ["O1", "O2"])
@pytest.mark.parametrize("bad", [math.inf, math.nan])
def test_an_overflow_skips_the_step_and_halves_the_scale(level: str, bad: float) -> None:
    model = linear()
    with initialized(model, optimizer_of(model), opt_level=level) as (model, optimizer):
        scaler = amp._amp_state.loss_scalers[0]
        assert scaler.loss_scale() == 2.0**16
        before = model.weight.detach().clone()
        for factor in (bad, 1.0):
            loss = model(torch.ones(1, 4, device="cuda")).sum() * factor
            backward(loss, optimizer)
            optimizer.step()
            optimizer.zero_grad()
            assert torch.equal(model.weight, before) == (factor != 1.0)
        assert scaler.loss_scale() == 2.0**15


def test_the_scale_stays_within_its_bounds() -> None:
    model = linear()
    options = {"opt_level": "O2", "min_loss_scale": 2.0**15, "max_loss_scale": 2.0**17}
    with initialized(model, optimizer_of(model, lr=0.0), **options) as (model, optimizer):
        scaler = amp._amp_state.loss_scalers[0]
        scaler._scale_seq_len = 2
        seen = []
        for factor in (math.inf, math.inf, *(1.0,) * 8):
            loss = model(torch.ones(1, 4, device="cuda")).sum() * 1e-3 * factor
            backward(loss, optimizer)
            optimizer.step()
            optimizer.zero_grad()
            seen.append(math.log2(scaler.loss_scale()))
        assert seen == [15, 15, 15, 16, 16, 17, 17, 17, 17, 17]


def test_saving_and_loading() -> None:
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
    for level in ("O1", "O2"):
        first, second = linear(), linear()
        with initialized([first, second], optimizer_of(first), opt_level=level, loss_scale=2.0) as (
            _,
            optimizer,
        ):
            optimizer.add_param_group({"params": second.parameters()})
            loss = (first(torch.ones(1, 4, device="cuda")) + second(torch.ones(1, 4, device="cuda"))).sum()
            backward(loss, optimizer)
            optimizer.step()
            for module in (first, second):
                assert_close(module.weight.float(), torch.full((2, 4), -0.5, device="cuda"))
            assert all(param.dtype == torch.float32 for param in amp.master_params(optimizer))


@pytest.mark.parametrize("materialize", [True, False])
def test_fused_sgd_with_and_without_master_gradients(materialize: bool) -> None:
    expected = by_hand("O2", 256.0)
    model = network()
    options = {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-3, "materialize_master_grads": materialize}
    optimizer = FusedSGD(model.parameters(), **options)
    with initialized(model, optimizer, opt_level="O2", loss_scale=256.0) as (model, optimizer):
        by_amp(model, optimizer)
    for ours, theirs in zip(model.parameters(), expected.parameters(), strict=True):
        assert_close(ours, theirs, rtol=2e-3, atol=2e-3)


def test_layerwise_rates_go_with_amp() -> None:
    model = linear()
    with initialized(model, LARC(optimizer_of(model)), opt_level="O2", loss_scale=8.0) as (model, optimizer):
        backward(model(torch.ones(1, 4, device="cuda")).sum(), optimizer)
        optimizer.step()
        assert_close(model.weight.float(), torch.full((2, 4), 0.49, device="cuda"), rtol=1e-3, atol=1e-3)


def test_a_scaler_by_itself() -> None:
    ones, scaler = torch.full((3,), 4.0, device="cuda"), LossScaler(loss_scale="dynamic", min_loss_scale=1.0)
    scaler.clear_overflow_state()
    scaler.unscale([ones], [ones], None)
    assert (scaler.update_scale(), ones[0].item()) == (False, 4.0 / 2**16)
