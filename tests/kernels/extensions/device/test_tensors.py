"""An extension with torch's headers for CUDA: its tensors are CUDA's, and its errors torch's."""

import ctypes
import pathlib

import pytest
import torch

from tests.kernels.extensions.device.corpus import captured, cuda, library

DTYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16)
INCLUDE = pathlib.Path(torch.__file__).parent / "include" / "torch"


@pytest.mark.parametrize("dtype", DTYPES)
def test_an_operator_of_cuda(dtype):
    library("tensors")
    x = cuda(20, 33, dtype=torch.float32).round().to(dtype)
    result = torch.ops.morph_corpus.sum_of_rows(x)
    assert result.is_cuda
    torch.testing.assert_close(result, x.sum(0))


def test_it_is_cudas_alone():
    library("tensors")
    with pytest.raises(NotImplementedError, match=r"morph_corpus::sum_of_rows.*'CPU' backend"):
        torch.ops.morph_corpus.sum_of_rows(torch.ones(2, 2))


def test_device_and_stream_of_the_caller():
    library("tensors")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        assert torch.ops.morph_corpus.place(torch.zeros(2, device="cuda", dtype=torch.int64)).tolist() == [
            0,
            stream.stream_id,
        ]


def test_a_failed_assertion_is_an_error_of_the_launch():
    library("tensors")
    x = torch.zeros(1, device="cuda")
    torch.ops.morph_corpus.check_limit(x, 64, 64)
    with pytest.raises(RuntimeError, match=r"device-side assert triggered: .*thread \[40,0,0\]"):
        torch.ops.morph_corpus.check_limit(x, 64, 40)
    torch.ops.morph_corpus.check_limit(x, 64, 64)


def test_too_large_a_block_is_an_error_of_the_launch():
    library("tensors")
    with pytest.raises(RuntimeError, match="CUDA error: invalid configuration argument"):
        torch.ops.morph_corpus.check_limit(torch.zeros(1, device="cuda"), 2048, 4096)


def test_more_threads_than_the_launch_bounds_are_an_error_of_the_launch():
    library("tensors")
    x = torch.zeros(1, device="cuda")
    torch.ops.morph_corpus.check_limit(x, 128, 128)
    expected = r"CUDA error: invalid argument \(limited was launched with 129 threads .* allow 128\)"
    with pytest.raises(RuntimeError, match=expected):
        torch.ops.morph_corpus.check_limit(x, 129, 129)
    torch.ops.morph_corpus.check_limit(x, 128, 128)


def test_a_product_by_torchs_handle():
    library("tensors")
    a, b = cuda(5, 7), cuda(7, 3)
    with torch.cuda.stream(torch.cuda.Stream()):
        torch.testing.assert_close(torch.ops.morph_corpus.product(a, b), a @ b)


def test_a_dropout_draws_from_torchs_generator():
    library("tensors")
    x, dropout = torch.ones(1026, device="cuda"), torch.ops.morph_corpus.dropout
    torch.manual_seed(3)
    first, second = dropout(x, 0.25), dropout(x, 0.25)
    torch.manual_seed(3)
    assert torch.equal(dropout(x, 0.25), first)
    assert not torch.equal(first, second)
    assert set(torch.unique(first).tolist()) == {0.0, float(torch.tensor(1.0) / 0.75)}
    assert float(first.mean()) == pytest.approx(1, abs=0.07)


def test_a_dropout_takes_and_advances_a_generator():
    library("tensors")
    x, generator = torch.ones(64, device="cuda"), torch.Generator("cuda").manual_seed(9)
    before = torch.cuda.default_generators[0].get_offset()
    first = torch.ops.morph_corpus.dropout(x, 0.5, generator)
    assert (generator.get_offset(), torch.cuda.default_generators[0].get_offset()) == (4, before)
    generator.set_offset(0)
    assert torch.equal(torch.ops.morph_corpus.dropout(x, 0.5, generator), first)
    with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
        torch.ops.morph_corpus.dropout(x, 0.5, torch.Generator())


def test_each_replay_of_a_graph_drops_others():
    library("tensors")
    x, graph = torch.ones(64, device="cuda"), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = torch.ops.morph_corpus.dropout(x, 0.5)
    graph.replay()
    first = result.clone()
    graph.replay()
    assert not torch.equal(result, first)


def test_a_graph_holds_an_operator():
    library("tensors")
    x, graph = cuda(4, 4), torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        result = torch.ops.morph_corpus.sum_of_rows(x)
    x.fill_(2)
    graph.replay()
    assert torch.equal(result, torch.full((4,), 8.0, device="cuda"))


def test_a_graph_refuses_a_launch_that_it_would_not_hold():
    fill, out = library("tensors").fill_raw, torch.zeros(4, device="cuda", dtype=torch.int64)
    arguments = ctypes.c_void_p(out.data_ptr()), ctypes.c_int64(3)
    assert fill(*arguments) == 0
    assert out.tolist() == [3] * 4
    assert captured(fill, *arguments) == 1


def test_a_captured_stream_says_so():
    status = library("tensors").capture_status
    assert status() == 0
    x = cuda(4, 4)
    with torch.cuda.graph(torch.cuda.CUDAGraph()):
        x.add_(1)  # torch warns of an empty graph
        assert status() == 1
    assert status() == 0


@pytest.mark.skipif(
    not (INCLUDE / "csrc" / "stable" / "accelerator.h").exists(), reason="torch has no such headers"
)
def test_an_extension_of_torchs_stable_interface():
    library("stable")
    values = torch.arange(70.0, device="cuda:1")
    with torch.cuda.stream(torch.cuda.Stream(1)):
        result = torch.ops.morph_stable.twice(values)
    assert result.device == values.device
    assert torch.equal(result, values * 2)
