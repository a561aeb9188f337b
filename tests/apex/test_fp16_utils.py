"""apex.fp16_utils: float16 training as before amp."""

import io
import math

import pytest
import torch
from torch import nn
from torch.nn import functional as F
from torch.testing import assert_close

from tests.apex.mixed import batches, by_hand, halved, network, sgd
from tests.later import Later

fp16_utils = Later("apex.fp16_utils")
FP16_Optimizer = Later("apex.fp16_utils", "FP16_Optimizer")


def test_networks_are_cast_but_for_batch_normalisation() -> None:
    input = torch.randn(4, 6, device="cuda")
    whole = fp16_utils.network_to_half(network())
    assert isinstance(whole[0], fp16_utils.tofp16)
    for model in (whole[1], fp16_utils.FP16Model(network()).network):
        assert model.first.weight.dtype == torch.float16
        assert model.norm.weight.dtype == model.norm.running_var.dtype == torch.float32
    assert whole(input).dtype == fp16_utils.FP16Model(network())(input).dtype == torch.float16
    plain = nn.Sequential(nn.BatchNorm1d(3, affine=False), nn.Linear(3, 3)).half()
    assert fp16_utils.BN_convert_float(plain)[0].running_mean.dtype == torch.float16
    recurrent = fp16_utils.convert_network(nn.LSTM(3, 4).cuda(), torch.bfloat16)
    assert recurrent.weight_ih_l0.dtype == torch.bfloat16


@pytest.mark.parametrize("flat", [False, True])
def test_masters_of_a_model(flat: bool) -> None:
    model = nn.Sequential(nn.Linear(3, 4), nn.Linear(4, 2)).cuda().half()
    model[1].bias.requires_grad_(False)
    params = [param for param in model.parameters() if param.requires_grad]
    masters = [param.detach().float() + 1 for param in params]
    masters = [torch.cat([master.flatten() for master in masters])] if flat else masters
    before = [param.detach().clone() for param in params]
    fp16_utils.master_params_to_model_params(params, masters, flat_master=flat)
    for param, old in zip(params, before, strict=True):
        assert_close(param.detach(), (old.float() + 1).half())
    assert fp16_utils.to_python_float(torch.ones(1)) == 1
    assert fp16_utils.to_python_float([2.0]) == 2


@pytest.mark.parametrize("dynamic", [False, True])
def test_training(dynamic: bool) -> None:
    expected = by_hand("O2", 256.0)
    model = halved(network(), but_batchnorm=True)
    scale = {"dynamic_loss_scale": True, "dynamic_loss_args": {"init_scale": 256.0}}
    options = scale if dynamic else {"static_loss_scale": 256.0}
    optimizer = FP16_Optimizer(sgd(model.parameters()), verbose=False, **options)
    for index, (input, target) in enumerate(batches()):
        optimizer.zero_grad()
        loss = F.cross_entropy(model(input.half()).float(), target)
        if index % 2:
            optimizer.backward(loss)
        else:
            optimizer.backward(loss, update_master_grads=False)
            optimizer.update_master_grads()
        assert optimizer.clip_master_grads(1e9) > 0
        optimizer.step()
    for ours, theirs in zip(model.parameters(), expected.parameters(), strict=True):
        assert ours.dtype == theirs.dtype
        assert_close(ours, theirs, rtol=2e-3, atol=2e-3)
    assert optimizer.loss_scale == 256.0
    masters = [param for group in optimizer.param_groups for param in group["params"]]
    assert [param.grad.dtype for param in masters] == [torch.float32] * 6


def test_an_overflow_skips_the_step() -> None:
    model = nn.Linear(3, 2, bias=False).cuda().half()
    optimizer = FP16_Optimizer(sgd(model.parameters()), dynamic_loss_scale=True, verbose=False)
    before = model.weight.detach().clone()
    optimizer.backward(model(torch.ones(1, 3, device="cuda").half()).sum() * math.inf)
    assert optimizer.overflow
    assert optimizer.clip_master_grads(1.0) == -1
    optimizer.step()
    assert torch.equal(model.weight, before)
    assert optimizer.loss_scale == 2.0**15
    optimizer.loss_scale, optimizer.overflow = 4.0, False
    optimizer.zero_grad(set_grads_to_None=True)
    assert model.weight.grad is None
    optimizer.backward(model(torch.ones(1, 3, device="cuda").half()).sum())
    optimizer.step()
    assert_close(model.weight.float(), before.float() * (1 - 1e-4) - 0.1, rtol=2e-3, atol=2e-3)


def test_saving_and_loading() -> None:
    def made() -> tuple[nn.Module, FP16_Optimizer]:
        torch.manual_seed(0)
        model = nn.Linear(3, 2).cuda().half()
        return model, FP16_Optimizer(sgd(model.parameters()), dynamic_loss_scale=True, verbose=False)

    def step(model: nn.Module, optimizer: FP16_Optimizer) -> None:
        optimizer.zero_grad()
        optimizer.backward(model(torch.ones(1, 3, device="cuda").half()).sum() * 1e-3)
        optimizer.step()

    model, optimizer = made()
    step(model, optimizer)
    written = io.BytesIO()
    torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, written)
    written.seek(0)
    saved = torch.load(written, weights_only=False)
    other, others = made()
    other.load_state_dict(saved["model"])
    others.load_state_dict(saved["optimizer"])
    for each in ((model, optimizer), (other, others)):
        step(*each)
    assert torch.equal(model.weight, other.weight)
    with pytest.raises(TypeError, match="must be either torch.cuda.FloatTensor or torch.cuda.HalfTensor"):
        FP16_Optimizer(sgd(nn.Linear(2, 2).cuda().bfloat16().parameters()), verbose=False)
