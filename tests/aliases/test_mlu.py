"""Cambricon's adapters call functions with the recorded parameters."""

from __future__ import annotations

import ctypes
import gc
import warnings
from types import SimpleNamespace

import pytest
import torch

from morph.aliases.adapters import capability
from morph.aliases.adapters.mlu import attention, pools, precision
from morph.aliases.adapters.mlu.runtime import cudart as cudart_of
from morph.errors import MissingNameError
from tests.aliases.recorded import Recorded, bindings, runtime

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


@active
def test_a_pool_of_cambricon_is_given_up_with_its_last_object(vendor: SimpleNamespace) -> None:
    vendor.graph_pool_handle = Recorded("torch.mlu.graph_pool_handle", (0, 9))
    allocator = bindings("torch_mlu._MLUC")
    pool = pools.MemPool()
    for _ in range(2):
        with pools.use_mem_pool(allocator, pool, 0):
            assert pool.use_count() == 2
    begun, ended = (
        allocator._mlu_beginAllocateCurrentStreamToPool,
        allocator._mlu_endAllocateCurrentStreamToPool,
    )
    assert begun.calls == ended.calls == [{"device": 0, "mempool_id": (0, 9)}] * 2
    assert len(allocator._mlu_releasePool.calls) == 1  # the second use is released when it ends
    del pool
    gc.collect()
    assert len(allocator._mlu_releasePool.calls) == 2


@active
def test_what_a_pool_of_cambricon_cannot_be_is_refused(vendor: SimpleNamespace) -> None:
    with pytest.raises(
        MissingNameError, match=r"MemPool\(use_on_oom=\.\.\.\) does not exist on backend 'mlu'"
    ):
        pools.MemPool(use_on_oom=True)


def test_fused_attention_is_asked_of_the_vendors_parameters(monkeypatch: pytest.MonkeyPatch) -> None:
    parameters = Recorded("torch.backends.mlu.SDPAParams", "parameters")
    monkeypatch.setattr(torch.backends, "mlu", SimpleNamespace(SDPAParams=parameters), raising=False)
    question = Recorded("torch.backends.mlu.can_use_flash_attention", True)
    query = torch.ones(1, 2, 3, 4)
    of_torch = torch.backends.cuda.SDPAParams(query, query, query, None, 0.0, True, False)
    assert attention.can_use_fused_attention(question, of_torch)
    assert parameters.calls[0]["is_causal"]
    assert question.calls == [{"params": "parameters", "debug": False}]
    grouped = torch.backends.cuda.SDPAParams(query, query, query, None, 0.0, False, True)
    assert not attention.can_use_fused_attention(question, grouped)


def test_bfloat16_is_asked_for_without_an_argument_on_cambricon() -> None:
    assert capability.is_bf16_supported(
        Recorded("torch.mlu.is_bf16_supported", True), including_emulation=False
    )


@pytest.mark.usefixtures("flags")
def test_tf32_of_cambricon_is_switched_where_the_vendor_replaces_torchs_switch(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    cnnl, products = SimpleNamespace(), SimpleNamespace()
    monkeypatch.setattr(torch.backends, "mlu", SimpleNamespace(matmul=products), raising=False)
    monkeypatch.setattr(torch.backends, "cnnl", cnnl, raising=False)
    monkeypatch.setattr(torch._C, "_set_cublas_allow_tf32", _warn)
    matmul = precision.switches.matmul
    matmul.allow_tf32 = True
    assert (products.allow_tf32, matmul.allow_tf32, torch.get_float32_matmul_precision()) == (
        True,
        True,
        "high",
    )
    matmul.allow_tf32 = False
    assert (products.allow_tf32, cnnl.allow_tf32) == (False, True)
    with precision.switches.flags(allow_tf32=False):
        assert not cnnl.allow_tf32
    assert cnnl.allow_tf32
    precision.switches.convolution.fp32_precision = "ieee"
    assert not cnnl.allow_tf32


@pytest.mark.usefixtures("flags")
def test_a_flag_whose_setter_cambricon_replaces_is_read_as_it_was_set(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(torch._C, "_set_cublas_allow_fp16_reduced_precision_reduction", _warn)
    matmul = precision.switches.matmul
    for value in (False, True):
        matmul.allow_fp16_reduced_precision_reduction = value
        assert matmul.allow_fp16_reduced_precision_reduction is value


def _warn(value: bool) -> None:
    warnings.warn("no effect", stacklevel=2)
