"""Functions of `torch.cuda.jiterator`, compared with torch's operators."""

import pytest
import torch
from torch.cuda.jiterator import _create_jit_fn, _create_multi_output_jit_fn

MIXED = "template <typename T> T mixed(T x, T y, T alpha) { return -x + alpha * y; }"
DTYPES = [
    torch.int8,
    torch.int64,
    torch.float16,
    torch.bfloat16,
    torch.float32,
    torch.float64,
    torch.complex64,
]


@pytest.mark.parametrize("dtype", [*DTYPES, torch.complex64])
def test_a_function_of_each_type(dtype):
    mixed = _create_jit_fn(MIXED, alpha=2)
    x, y = (torch.arange(start, start + 6).to(dtype).cuda() for start in (1, 3))
    assert mixed(x, y).dtype == dtype
    assert torch.equal(mixed(x, y), -x + 2 * y)
    assert torch.equal(mixed(x, y, alpha=3), -x + 3 * y)


def test_any_byte_but_zero_is_true():
    code = "template <typename T> T both(T x, T y) { return x && y; }"
    x = torch.tensor([0, 1, 2, 255], dtype=torch.uint8, device="cuda").view(torch.bool)
    assert _create_jit_fn(code)(x, torch.ones_like(x)).view(torch.uint8).tolist() == [0, 1, 1, 1]


def test_tensors_are_broadcast_and_promoted():
    mixed = _create_jit_fn(MIXED, alpha=0.5)
    x, y = torch.randn(4, 3, device="cuda").t(), torch.arange(4, device="cuda")
    assert torch.equal(mixed(x, y), -x + 0.5 * y)
    scalar = torch.tensor(2.0, dtype=torch.float64, device="cuda")
    assert mixed(x, scalar).dtype == torch.float32
    assert mixed(x[:0], y).shape == (0, 4)


def test_the_last_of_several_functions_is_called():
    code = "template <typename T> T helper(T x) { return ::sin(x); }"
    code += "template <typename T> T entry(T x, T most) { return ::min(most, helper(x)); }"
    x = torch.randn(10, device="cuda")
    torch.testing.assert_close(_create_jit_fn(code, most=0.25)(x), x.sin().clamp(max=0.25))


def test_results_by_reference():
    code = "template <typename T> void both(T x, T y, T& sum, T& less) { sum = x + y; less = x - y; }"
    x, y = torch.randn(2, 5, device="cuda")
    total, difference = _create_multi_output_jit_fn(code, num_outputs=2)(x, y)
    assert torch.equal(total, x + y)
    assert torch.equal(difference, x - y)


def test_a_graph_holds_it():
    mixed = _create_jit_fn(MIXED, alpha=2)
    x, y = torch.ones(4, device="cuda"), torch.arange(4, device="cuda")
    mixed(x, y)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = mixed(x, y) + 1
    x.fill_(5)
    graph.replay()
    assert result.tolist() == [-4, -2, 0, 2]


def test_an_assertion_that_fails():
    code = "template <typename T> T checked(T x) { assert(x > 0); return x; }"
    with pytest.raises(RuntimeError, match="device-side assert triggered: x > 0"):
        _create_jit_fn(code)(torch.zeros(1, device="cuda"))


def test_a_function_that_does_not_compile():
    with pytest.raises(RuntimeError, match="expected primary-expression"):
        _create_jit_fn("template <typename T> T broken(T x) { return x +; }")(torch.ones(1, device="cuda"))


def test_tensors_of_two_devices():
    x = torch.ones(1)
    with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu!"):
        _create_jit_fn(MIXED, alpha=1)(x, x.cuda())


def test_a_layout_that_it_cannot_take():
    ragged = torch.nested.nested_tensor_from_jagged(
        torch.ones(5, device="cuda"), torch.tensor([0, 2, 5]).cuda()
    )
    with pytest.raises(RuntimeError, match="unsupported tensor layout"):
        _create_jit_fn(MIXED, alpha=1)(ragged, ragged)
