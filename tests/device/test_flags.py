"""The flags of torch.backends."""

import operator

import pytest
import torch

from tests.platforms import ACCELERATORS, Platform

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


# with each platform: its switches for products and for convolutions, which some vendors have as one
SWITCHES = {
    "npu": ("torch.npu.matmul.allow_hf32", "torch.npu.conv.allow_hf32"),
    "simulated-mlu": ("torch.backends.mlu.matmul.allow_tf32", "torch.backends.cnnl.allow_tf32"),
    "simulated-musa": ("torch.backends.musa.matmul.allow_tf32", "torch.backends.mudnn.allow_tf32"),
    "simulated-xpu": ("torch.backends.mkldnn.allow_tf32",) * 2,
}


@pytest.mark.platforms(*SWITCHES)
def test_tf32_is_that_of_the_vendors_libraries(platform: Platform) -> None:
    products, convolutions = SWITCHES[platform.name]
    if platform.name == "simulated-musa" and not hasattr(torch.backends, "musa"):  # torch_musa 2.7 has one
        products = convolutions
    is_one = products == convolutions
    cuda, cudnn = torch.backends.cuda.matmul, torch.backends.cudnn

    def switches() -> tuple[bool, bool]:
        return eval(products, {"torch": torch}), eval(convolutions, {"torch": torch})

    cuda.allow_tf32 = cudnn.allow_tf32 = True
    assert switches() == (True, True)
    with cudnn.flags(enabled=True, allow_tf32=False):
        assert switches() == (not is_one, False)
    assert switches() == (True, True)
    cudnn.set_flags(_allow_tf32=False)
    assert switches() == (not is_one, False)
    cudnn.allow_tf32 = True
    cuda.allow_tf32 = False
    assert switches() == (False, not is_one)
    cudnn.conv.fp32_precision = "ieee"
    assert switches() == (False, False)
    cudnn.conv.fp32_precision = "tf32"
    assert switches() == (False, not is_one)


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
