"""cuBLAS's workspaces, which torch's allocator gives and its statistics count."""

import gc
from collections.abc import Callable

import pytest
import torch
from torch import Tensor

WORKSPACE = (4096 * 2 + 16 * 8) * 1024  # bytes: torch's default below compute capability 9.0


def clear() -> None:
    torch._C._cuda_clearCublasWorkspaces()


def begin() -> None:
    """Undo what earlier tests have left: a stream, workspaces, garbage that would be freed meanwhile."""
    gc.collect()
    torch.cuda.set_stream(torch.cuda.default_stream())
    clear()


def growth(action: Callable[[], object]) -> int:
    """Return how many bytes are taken after an action whose result is dropped."""
    before = torch.cuda.memory_allocated()
    action()
    return torch.cuda.memory_allocated() - before


def product() -> Tensor:
    return torch.ones(3, 3, device="cuda") @ torch.ones(3, 3, device="cuda")


def gradient() -> None:
    given = torch.ones(3, 3, device="cuda", requires_grad=True)
    torch.autograd.grad((given @ given).sum(), given)


def test_each_stream_has_one() -> None:
    begin()
    assert growth(product) == WORKSPACE
    assert growth(product) == 0
    with torch.cuda.stream(torch.cuda.Stream()):
        assert growth(product) == WORKSPACE
        assert growth(product) == 0
    assert growth(clear) == -2 * WORKSPACE


def test_gradients_have_another() -> None:
    begin()
    product()
    assert growth(gradient) == WORKSPACE
    assert growth(gradient) == 0


@pytest.mark.parametrize(
    ("text", "expected"), [(":128:8:64:16:32:32", 3072 << 10), (":0:0", 0), ("-1", WORKSPACE)]
)
def test_its_size_is_configured(monkeypatch: pytest.MonkeyPatch, text: str, expected: int) -> None:
    begin()
    monkeypatch.setenv("CUBLAS_WORKSPACE_CONFIG", text)
    assert growth(product) == torch._C._cuda_getCublasWorkspaceSize() == expected


def test_a_graphs_pool_has_its_own() -> None:
    begin()
    product()
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = product()
    graph.replay()
    assert result.sum() == 27
    assert growth(clear) == -2 * WORKSPACE
