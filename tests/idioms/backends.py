"""torch.backends and torch.version: the switches that scripts set and the values that they read."""

import torch
import torch.backends.cudnn as cudnn
from torch.nn.attention import SDPBackend, sdpa_kernel


def _attend():
    q = torch.randn(1, 2, 4, 8, device="cuda")
    return torch.nn.functional.scaled_dot_product_attention(q, q, q, is_causal=True)


def benchmark():
    torch.backends.cudnn.benchmark = True
    assert torch.backends.cudnn.benchmark is True


def deterministic():
    torch.backends.cudnn.deterministic = True
    assert cudnn.deterministic
    cudnn.deterministic = False


def switched_off_and_on():
    torch.backends.cudnn.enabled = False
    assert torch.nn.Conv2d(1, 1, 1).cuda()(torch.ones(1, 1, 2, 2, device="cuda")).is_cuda
    torch.backends.cudnn.enabled = True


def flags():
    with torch.backends.cudnn.flags(enabled=True, benchmark=False, deterministic=True, allow_tf32=False):
        assert torch.backends.cudnn.deterministic


def tf32_of_products():
    torch.backends.cuda.matmul.allow_tf32 = True
    assert torch.backends.cuda.matmul.allow_tf32 is True
    torch.backends.cuda.matmul.allow_tf32 = False


def tf32_of_convolutions():
    torch.backends.cudnn.allow_tf32 = True
    assert torch.backends.cudnn.allow_tf32 is True


def precision_of_products():
    torch.set_float32_matmul_precision("high")
    assert torch.get_float32_matmul_precision() == "high"
    torch.set_float32_matmul_precision("highest")


def reduced_precision_of_products():
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = False
    torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction = True
    assert torch.backends.cuda.matmul.allow_bf16_reduced_precision_reduction
    torch.backends.cuda.matmul.allow_fp16_reduced_precision_reduction = True


def attention_kernels_are_switched():
    torch.backends.cuda.enable_flash_sdp(False)
    assert not torch.backends.cuda.flash_sdp_enabled()
    torch.backends.cuda.enable_flash_sdp(True)
    torch.backends.cuda.enable_mem_efficient_sdp(True)
    torch.backends.cuda.enable_math_sdp(True)
    assert torch.backends.cuda.math_sdp_enabled() and torch.backends.cuda.mem_efficient_sdp_enabled()


def attention_kernel_in_a_block():
    with torch.backends.cuda.sdp_kernel(enable_flash=False, enable_math=True, enable_mem_efficient=False):
        assert _attend().is_cuda


def attention_kernel_is_chosen():
    with sdpa_kernel(SDPBackend.MATH):
        assert _attend().shape == (1, 2, 4, 8)


def attention_kernel_of_several():
    with sdpa_kernel([SDPBackend.FLASH_ATTENTION, SDPBackend.EFFICIENT_ATTENTION, SDPBackend.MATH]):
        assert _attend().is_cuda


def attention_can_be_asked_for():
    q = torch.randn(1, 2, 4, 8, device="cuda")
    parameters = torch.backends.cuda.SDPAParams(q, q, q, None, 0.0, False, False)
    assert torch.backends.cuda.can_use_flash_attention(parameters) in (True, False)


def version_of_cuda_is_split():
    major, minor = map(int, torch.version.cuda.split(".")[:2])
    assert (major, minor) >= (11, 0)


def backends_of_cuda_are_a_module():
    import torch.backends.cuda as backend

    assert backend is torch.backends.cuda


EXPRESSIONS = {
    "enabled": lambda: torch.backends.cudnn.enabled,
    "cudnn_is_available": lambda: torch.backends.cudnn.is_available(),
    "cudnn_has_a_version": lambda: torch.backends.cudnn.version() > 0,
    "cudnn_takes_a_tensor": lambda: torch.backends.cudnn.is_acceptable(torch.zeros(1, device="cuda")),
    "is_built": lambda: torch.backends.cuda.is_built(),
    "linear_algebra_library": lambda: torch.backends.cuda.preferred_linalg_library() is not None,
    "plan_cache": lambda: torch.backends.cuda.cufft_plan_cache.size >= 0,
    "version_of_cuda": lambda: torch.version.cuda is not None,
    "version_of_hip_is_none": lambda: torch.version.hip is None,
    "configuration_is_shown": lambda: isinstance(torch.__config__.show(), str),
    "cuda_is_compiled_in": lambda: torch.cuda._is_compiled(),
    "cpu_vectors": lambda: torch.backends.cpu.get_cpu_capability() != "",
}
