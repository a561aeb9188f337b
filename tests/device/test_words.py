"""Translation of CUDA device names; other words stay as they are."""

from __future__ import annotations

import pytest
import torch

from morph.backends import active
from morph.device.words import Words
from morph.finders.scope import Scope
from morph.finders.torch_cuda.views import Views
from tests.platforms import ACCELERATORS


def words() -> Words:
    backend = active()
    assert backend is not None
    return Words(backend, Views((), Scope()))


def own() -> str:
    return words().backend.device_type


def test_device_types() -> None:
    assert words().device_type("cuda") == own()
    for other in ("cpu", "meta", "cuda:0", "CUDA", "/data_cuda/m.pt", None, 0):
        assert words().device_type(other) is other


def test_devices_as_text() -> None:
    assert words().device("cuda") == own()
    assert words().device("cuda:1") == ("cpu" if own() == "cpu" else f"{own()}:1")
    for other in ("cpu", "cuda:x", "mycuda:0", "cuda:0/model.pt", 1):
        assert words().device(other) is other


def test_dispatch_keys() -> None:
    key = torch._C._dispatch_key_for_device(own())
    assert words().dispatch_key("CUDA") == key
    assert words().dispatch_key("AutogradCUDA") == f"Autograd{key}"
    assert words().dispatch_key("Meta") == "Meta"


def test_collectives() -> None:
    collective = words().backend.collective
    assert words().collective("nccl") == words().collective("NCCL") == collective
    assert words().collective("mpi") == "mpi"
    both = "cpu:gloo" if own() == "cpu" else f"cpu:gloo,{own()}:{collective}"
    assert words().collective("cpu:gloo,cuda:nccl") == both
    assert words().collective("cuda:nccl") == f"{own()}:{collective}"


@pytest.mark.platforms(*ACCELERATORS)
def test_cudas_words_are_shown() -> None:
    collective = words().backend.collective
    assert words().shown(own()) == "cuda"
    assert words().shown(f"{own()}:1") == "cuda:1"
    assert words().shown(f"cpu:gloo,{own()}:{collective}") == "cpu:gloo,cuda:nccl"
    for other in ("cpu", "gloo", f"my{own()}", f"/data_{own()}/m.pt", None, 0):
        assert words().shown(other) is other


def test_tensor_types() -> None:
    assert words().tensor_dtype("torch.cuda.HalfTensor") is torch.float16
    assert words().tensor_dtype("torch.cuda.Stream") is None
    assert words().tensor_dtype("torch.HalfTensor") is None
