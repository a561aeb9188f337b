"""Memory used by attention to many tokens, and by its gradients."""

from typing import Any

import pytest
import torch

from tests.later import Later
from tests.platforms import ACCELERATORS

flash_attn_func = Later("flash_attn", "flash_attn_func")


MIB = 1 << 20


@pytest.mark.long_on("cpu")
@pytest.mark.platforms("cpu", *ACCELERATORS)
@pytest.mark.parametrize("options", [{}, {"window_size": (256, 0)}, {"softcap": 20.0}])
def test_memory_grows_with_the_tokens_and_not_with_their_square(
    options: dict[str, Any], platform_name: str
) -> None:
    # one matrix of scores would take 12 MiB more, and 200 on the CPU, which works in larger blocks
    tokens, allowed = (8192, 20) if platform_name == "cpu" else (2048, 4)
    _peak(256, options)  # memory that a kernel keeps after its first call is not counted
    half, whole = (_peak(each, options) for each in (tokens // 2, tokens))
    assert 0 < half < whole < half + allowed


def _peak(tokens: int, options: dict[str, Any]) -> float:
    """Returns the peak MiB of both passes, without their inputs."""
    shape = 1, tokens, 1, 64
    inputs = [torch.randn(shape, device="cuda", dtype=torch.bfloat16, requires_grad=True) for _ in range(3)]
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats()
    before = torch.cuda.memory_allocated()
    flash_attn_func(*inputs, causal=True, **options).sum().backward()
    torch.cuda.synchronize()
    return (torch.cuda.max_memory_allocated() - before) / MIB
