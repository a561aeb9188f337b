"""apex.amp: training at every level matches training by hand, and the arguments that initialize accepts."""

import contextlib
import io
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tests.apex.mixed import by_amp, by_hand, initialized, linear, network, optimizer_of, sgd
from tests.later import Later

amp = Later("apex.amp")
FP16_Optimizer = Later("apex.fp16_utils", "FP16_Optimizer")


LEVELS = ("O0", "O1", "O2", "O3")


@pytest.mark.parametrize("level", LEVELS)
def test_training(level: str) -> None:
    scale = 256.0 if level in ("O1", "O2") else 1.0
    expected = by_hand(level, scale)
    with initialized(network(), None, opt_level=level, loss_scale=scale) as model:
        assert isinstance(model, nn.Module)  # a pair only with optimizers
    with initialized(network(), [], opt_level=level) as (_, optimizers):
        assert optimizers == []
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


def test_what_is_said() -> None:
    said = io.StringIO()
    with contextlib.redirect_stdout(said), initialized(linear(), opt_level="O2", verbosity=1):
        assert "Selected optimization level O2" in said.getvalue()
        assert "keep_batchnorm_fp32    : True" in said.getvalue()


def test_refusals() -> None:
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
    with pytest.raises(RuntimeError, match="Found param weight with type torch.FloatTensor"):
        amp.initialize(nn.Linear(2, 2), opt_level="O2", verbosity=0)


def test_names_by_which_programs_find_it() -> None:
    import apex

    assert apex.amp.initialize is not None
    assert apex.amp.__path__
    assert apex.optimizers.FusedAdam is not None
    space: dict[str, Any] = {"__name__": __name__}
    exec("from apex.fp16_utils import *", space)
    assert {"network_to_half", "FP16_Optimizer", "to_python_float"} <= space.keys()
