"""Published frameworks choose their code path for the vendor where they have one, else the one for CUDA."""

import importlib.util
import json
import os
import pathlib
import sys

import pytest

from tests.platforms import Platform, complete, describe

TRAINING = pathlib.Path(__file__).parent / "frameworks.py"

PROGRAM = """
import importlib.util, json, sys
import torch
if torch.device("cuda").type != "npu":
    sys.modules["torch_npu"] = None  # as on a machine without it

def accelerate():
    from accelerate import Accelerator
    accelerator = Accelerator()
    model = torch.nn.Linear(4, 2)
    model, optimizer = accelerator.prepare(model, torch.optim.SGD(model.parameters(), lr=0.1))
    accelerator.backward(model(torch.ones(3, 4, device=accelerator.device)).sum())
    optimizer.step()
    return accelerator.device.type, next(model.parameters()).device.type

def transformers():
    from transformers import TrainingArguments
    from transformers.utils import is_torch_cuda_available, is_torch_npu_available
    arguments = TrainingArguments(output_dir=sys.argv[1])
    return arguments.device.type, is_torch_npu_available(), is_torch_cuda_available()

def pytorch_lightning():
    import pytorch_lightning
    trainer = pytorch_lightning.Trainer(logger=False, enable_checkpointing=False)
    return type(trainer.accelerator).__name__, trainer.strategy.root_device.type

def deepspeed():
    from deepspeed.accelerator import get_accelerator
    chosen = get_accelerator()
    return chosen.device_name(), chosen.communication_backend_name()

choices = {each.__name__: each for each in (accelerate, transformers, pytorch_lightning, deepspeed)}
there = {name: choose for name, choose in choices.items() if importlib.util.find_spec(name)}
print(json.dumps({name: choose() for name, choose in there.items()}))
"""
CHOICES = {
    "npu": {
        "accelerate": ["cuda", "cuda"],
        "transformers": ["cuda", True, False],
        "pytorch_lightning": ["CUDAAccelerator", "cuda"],
        "deepspeed": ["npu", "hccl"],
    },
    "cpu": {
        "accelerate": ["cuda", "cuda"],
        "transformers": ["cuda", False, True],
        "pytorch_lightning": ["CUDAAccelerator", "cuda"],
        "deepspeed": ["cuda", "nccl"],
    },
}


@pytest.mark.needs("accelerate", "transformers")
@pytest.mark.long
@pytest.mark.platforms("npu", "cpu")
def test_what_frameworks_choose(platform: Platform, tmp_path: pathlib.Path) -> None:
    done = platform.run(PROGRAM, tmp_path)
    chosen = json.loads(done.stdout.splitlines()[-1])
    expected = CHOICES[platform.name]
    assert chosen == {name: expected[name] for name in chosen}
    assert {"accelerate", "transformers"} <= chosen.keys()
    if chosen.keys() != expected.keys():
        reason = f"{', '.join(expected.keys() - chosen.keys())} not installed (extra test-frameworks)"
        (pytest.fail if os.environ.get("CI") else pytest.skip)(reason)


@pytest.mark.long
@pytest.mark.platforms("cpu")
@pytest.mark.parametrize(
    "name", ["accelerate", "transformers", "pytorch_lightning", "lightning_fabric", "deepspeed"]
)
def test_training_on_the_path_of_cuda_ends_as_on_the_cpu(
    platform: Platform, name: str, tmp_path: pathlib.Path
) -> None:
    if importlib.util.find_spec(name) is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)(f"{name} is missing (extra test-frameworks)")
    alone = {"RANK": "0", "LOCAL_RANK": "0", "WORLD_SIZE": "1", "MASTER_ADDR": "localhost"}
    variables = {**alone, "MASTER_PORT": "0", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    variables["TORCH_EXTENSIONS_DIR"] = str(tmp_path)  # DeepSpeed compiles; a killed build leaves a lock
    plain = [sys.executable, str(TRAINING), name, "cpu"]
    expected = complete(plain, env={**platform.environment, **variables}, timeout=300)
    assert expected.returncode == 0, describe(expected)
    done = platform.run(TRAINING, name, "gpu", environment=variables)
    losses = [float(each.stdout.splitlines()[-1]) for each in (done, expected)]
    assert losses[0] == pytest.approx(losses[1], rel=1e-5)
