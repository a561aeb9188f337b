"""Cambricon's adapters call functions with the recorded parameters."""

import ctypes
import warnings
from types import SimpleNamespace

import pytest
import torch

from morph.aliases.adapters.mlu import precision
from morph.aliases.adapters.mlu.cuda_runtime import cudart as cudart_of
from morph.base.errors import MissingNameError
from tests.aliases.recorded import runtime

CNRT = "torch_mlu._MLUC._cnrt"
active = pytest.mark.parametrize("vendor", ["mlu"], indirect=True)


def test_the_runtime_of_cambricon_is_cudas() -> None:
    cnrt = runtime(CNRT, "mluError", mluGetErrorStr="bad", mluProfilerStart=0)
    cudart = cudart_of(lambda: cnrt)
    assert cudart.cudaError is cnrt.mluError
    assert cudart.cudaGetErrorString(cudart.cudaError.success) == "bad"
    assert cudart.cudaProfilerStart() == cudart.cudaError.success
    with pytest.raises(MissingNameError, match=r"cudaHostRegister.*binds no mluHostRegister"):
        cudart.cudaHostRegister(0, 0, 0)


@active
def test_a_stream_of_cambricons_pool_is_written_to_an_address(vendor: SimpleNamespace) -> None:
    vendor.Stream = lambda: SimpleNamespace(mlu_stream=77)
    cudart = cudart_of(lambda: runtime(CNRT, "mluError"))
    handle = ctypes.c_void_p()
    assert cudart.cudaStreamCreate(ctypes.addressof(handle)) == cudart.cudaError.success
    assert handle.value == 77


@pytest.mark.usefixtures("flags")
@pytest.mark.parametrize("dtype", ["fp16", "bf16"])
def test_a_flag_whose_setter_cambricon_replaces_is_read_as_it_was_set(
    monkeypatch: pytest.MonkeyPatch, dtype: str
) -> None:
    flag = f"allow_{dtype}_reduced_precision_reduction"
    monkeypatch.setattr(torch._C, f"_set_cublas_{flag}", _warn)
    matmul = precision.switches.matmul
    for value in (False, True):
        setattr(matmul, flag, value)
        assert getattr(matmul, flag) is value


@pytest.mark.usefixtures("flags")
def test_the_choice_of_kernels_is_also_cnnls(monkeypatch: pytest.MonkeyPatch) -> None:
    cnnl = SimpleNamespace()
    monkeypatch.setattr(torch.backends, "mlu", SimpleNamespace(matmul=SimpleNamespace()), raising=False)
    monkeypatch.setattr(torch.backends, "cnnl", cnnl, raising=False)
    for value in (True, False):
        precision.deterministic.__set__(torch.backends.cudnn, value)
        precision.benchmark.__set__(torch.backends.cudnn, not value)
        assert (cnnl.deterministic, cnnl.benchmark) == (value, not value)
        assert torch.backends.cudnn.deterministic is value
    with precision.switches.flags(deterministic=True):
        assert cnnl.deterministic
    assert not cnnl.deterministic


def _warn(value: bool) -> None:
    warnings.warn("no effect", stacklevel=2)
