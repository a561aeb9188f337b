"""The flags of torch.backends."""

from __future__ import annotations

import operator
from typing import Any

import pytest
import torch

from tests.platforms import ACCELERATORS

FLAGS = [
    ("cuda.matmul", "allow_tf32"),
    ("cuda.matmul", "allow_bf16_reduced_precision_reduction"),
    ("cudnn", "allow_tf32"),
    ("cudnn", "benchmark"),
    ("cudnn", "deterministic"),
]


@pytest.mark.parametrize(("owner", "flag"), FLAGS)
def test_a_flag_is_read_as_it_was_set(owner: str, flag: str) -> None:
    holder = operator.attrgetter(owner)(torch.backends)
    before = getattr(holder, flag)
    for value in (not before, before):
        setattr(holder, flag, value)
        assert getattr(holder, flag) is value


@pytest.mark.platforms("npu")
def test_tf32_is_hf32() -> None:
    torch.backends.cuda.matmul.allow_tf32 = True
    assert torch.npu.matmul.allow_hf32
    torch.backends.cuda.matmul.allow_tf32 = False
    assert not torch.npu.matmul.allow_hf32
    torch.backends.cudnn.allow_tf32 = False
    assert not torch.npu.conv.allow_hf32
    torch.backends.cudnn.allow_tf32 = True
    assert torch.npu.conv.allow_hf32


@pytest.mark.platforms("simulated-mlu")
def test_tf32_is_that_of_cambricons_libraries() -> None:
    own: Any = torch.backends
    torch.backends.cuda.matmul.allow_tf32 = True
    assert own.mlu.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    assert not own.mlu.matmul.allow_tf32
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        assert not own.cnnl.allow_tf32
    assert own.cnnl.allow_tf32


@pytest.mark.platforms("simulated-musa")
def test_tf32_of_moore_threads_is_that_of_its_libraries() -> None:
    own: Any = torch.backends
    is_one = not hasattr(own, "musa")  # torch_musa 2.7
    products = own.mudnn if is_one else own.musa.matmul
    torch.backends.cuda.matmul.allow_tf32 = True
    assert (products.allow_tf32, own.mudnn.allow_tf32) == (True, True)
    torch.backends.cudnn.allow_tf32 = False
    assert (products.allow_tf32, own.mudnn.allow_tf32) == (not is_one, False)
    torch.backends.cudnn.allow_tf32 = True
    assert (products.allow_tf32, own.mudnn.allow_tf32) == (True, True)
    torch.backends.cuda.matmul.allow_tf32 = False
    assert (products.allow_tf32, own.mudnn.allow_tf32) == (False, not is_one)


@pytest.mark.platforms("simulated-xpu")
def test_tf32_of_intel_is_one_switch() -> None:
    onednn: Any = torch.backends.mkldnn
    torch.backends.cuda.matmul.allow_tf32 = True
    assert onednn.allow_tf32
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        assert not onednn.allow_tf32
    assert onednn.allow_tf32
    torch.backends.cudnn.conv.fp32_precision = "ieee"
    assert not onednn.allow_tf32
    torch.backends.cudnn.conv.fp32_precision = "tf32"
    torch.backends.cuda.matmul.allow_tf32 = False
    assert not onednn.allow_tf32


@pytest.mark.platforms("npu")
def test_the_newer_spelling_of_tf32_is_hf32_too() -> None:
    torch.backends.cudnn.conv.fp32_precision = "ieee"
    assert not torch.npu.conv.allow_hf32
    torch.backends.cudnn.conv.fp32_precision = "tf32"
    assert torch.npu.conv.allow_hf32


@pytest.mark.platforms("npu")
def test_flags_for_a_block_switch_hf32_for_a_block() -> None:
    with torch.backends.cudnn.flags(enabled=True, allow_tf32=False):
        assert not torch.npu.conv.allow_hf32
    assert torch.npu.conv.allow_hf32
    torch.backends.cudnn.set_flags(_allow_tf32=True)
    assert torch.npu.conv.allow_hf32


def test_a_flag_that_there_is_not_is_refused() -> None:
    with pytest.raises(AttributeError, match="Unknown attribute"):
        torch.backends.cuda.matmul.no_such_flag = True


@pytest.mark.platforms("npu", "simulated-mlu")
def test_the_plan_cache_of_a_device_is_the_vendors() -> None:
    torch.backends.cuda.cufft_plan_cache[0].max_size = 7
    assert torch.backends.cuda.cufft_plan_cache.max_size == 7
    torch.backends.cuda.cufft_plan_cache.max_size = 10
    torch.backends.cuda.cufft_plan_cache.clear()
    assert torch.backends.cuda.cufft_plan_cache["cuda:0"].size == 0


@pytest.mark.platforms(*ACCELERATORS)
def test_hints_for_cudas_libraries_are_taken() -> None:
    for name in ("cusolver", "magma", "default"):
        assert torch.backends.cuda.preferred_linalg_library(name) == torch._C._LinalgBackend.Default
    assert torch.backends.cuda.preferred_blas_library("cublaslt") == torch._C._BlasBackend.Default
    with pytest.raises(RuntimeError, match="Unknown input value"):
        torch.backends.cuda.preferred_linalg_library("no-such-library")
