"""What the CPU's kernels would do and CUDA does not: it is refused with CUDA's words."""

import contextlib
from collections.abc import Callable, Iterator

import pytest
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from tests.software.cuda.deprecation import ignoring_deprecation

TRAINING = "cudnn RNN backward can only be called in training mode"


def ones(*sizes: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.ones(sizes, dtype=dtype, device="cuda")


def test_a_convolution_of_integers_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"getCudnnDataTypeFromScalarType\(\) not supported for Long"):
        F.conv2d(ones(1, 1, 3, 3, dtype=torch.long), ones(1, 1, 2, 2, dtype=torch.long))


def test_an_empty_product_of_integers_is_computed() -> None:
    assert (ones(0, 2, dtype=torch.long) @ ones(2, 3, dtype=torch.long)).shape == (0, 3)


def test_an_operator_that_only_the_cpu_has_is_refused() -> None:
    with pytest.raises(NotImplementedError, match=r"Could not run 'aten::histogram.bin_ct'.*'CUDA' backend"):
        torch.histogram(ones(3), 2)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_gradients_of_a_recurrent_network_have_none(kind: type[nn.RNNBase]) -> None:
    torch.func.grad(torch.sin)(ones())  # after which torch keeps a state of its transforms
    network, given = kind(3, 4).cuda(), ones(2, 1, 3)

    def gradient() -> Tensor:
        [found] = torch.autograd.grad(network(given)[0].sum(), network.weight_hh_l0, create_graph=True)
        return found

    once = gradient()
    with pytest.raises(NotImplementedError, match="derivative for '_cudnn_rnn_backward'"):
        once.sum().backward()
    with torch.backends.cudnn.flags(enabled=False):
        differentiable = gradient()
    differentiable.sum().backward()
    torch.testing.assert_close(once, differentiable)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_the_results_of_a_recurrent_network_are_cudnns(kind: type[nn.RNNBase]) -> None:
    output, state = kind(3, 4).cuda()(ones(2, 1, 3))
    for result in (output, *(state if kind is nn.LSTM else [state])):
        assert result.grad_fn.name() == "CudnnRnnBackward0"


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
def test_a_state_that_is_not_contiguous_is_refused(kind: type[nn.RNNBase]) -> None:
    state = ones(1, 4, 2).transpose(1, 2)
    with pytest.raises(RuntimeError, match="rnn: hx is not contiguous"):
        kind(3, 4).cuda()(ones(5, 2, 3), (state, state) if kind is nn.LSTM else state)


@pytest.mark.parametrize("kind", [nn.LSTM, nn.GRU, nn.RNN])
@pytest.mark.parametrize("packed", [False, True])
def test_a_recurrent_network_has_gradients_in_training_only(kind: type[nn.RNNBase], packed: bool) -> None:
    network, given = kind(3, 4).cuda(), ones(2, 1, 3)
    if packed:
        given = nn.utils.rnn.pack_padded_sequence(given, [2])
    for _ in ("training", "and again after evaluation"):
        network.train()(given)[1][0].sum().backward()
        with pytest.raises(RuntimeError, match=TRAINING):
            network.eval()(given)[1][0].sum().backward()
    with torch.no_grad():
        network(given)
    with torch.backends.cudnn.flags(enabled=False):
        network(given)[1][0].sum().backward()


@pytest.mark.parametrize("kind", ["FloatTensor", "cuda.HalfTensor"])
def test_a_convolution_is_of_tensors_of_one_type(kind: str) -> None:
    weight = torch.ones(1, 1, 1).type(f"torch.{kind}")
    words = rf"^Input type \(torch\.cuda\.FloatTensor\) and weight type \(torch\.{kind}\) should be the same"
    with pytest.raises(RuntimeError, match=words):
        F.conv1d(ones(1, 1, 2), weight)
    with pytest.raises(RuntimeError, match="^Expected all tensors to be on the same device"):
        F.conv1d(torch.ones(1, 1, 2), weight.cuda())


def test_a_scattered_product_of_complex_numbers_is_refused() -> None:
    with pytest.raises(NotImplementedError, match="base_kernel_func\" not implemented for 'ComplexFloat'"):
        ones(2, dtype=torch.cfloat).scatter_(
            0, ones(1, dtype=torch.long), ones(1, dtype=torch.cfloat), reduce="multiply"
        )


def largest_of_bags() -> None:
    weight = torch.randn(4, 3, device="cuda", dtype=torch.bfloat16, requires_grad=True)
    F.embedding_bag(ones(1, 2, dtype=torch.long), weight, mode="max").sum().backward()


REFUSED: dict[str, tuple[Callable[[], object], str]] = {
    "a product": (
        lambda: ones(2, 2, dtype=torch.long) @ ones(2, 2, dtype=torch.long),
        "\"addmm_cuda\" not implemented for 'Long'",
    ),
    "a product of float8": (
        lambda: ones(16, 16).to(torch.float8_e4m3fn) @ ones(16, 16).to(torch.float8_e4m3fn),
        "\"addmm_cuda\" not implemented for 'Float8_e4m3fn'",
    ),
    **{
        f"float8 by {operation.__name__}": (
            lambda operation=operation: operation(*[ones(4).to(torch.float8_e4m3fn)] * 2),
            f"\"{kernel}\" not implemented for 'Float8_e4m3fn'",
        )
        for operation, kernel in (
            (torch.add, "ufunc_add_CUDA"),
            (torch.sub, "ufunc_add_CUDA"),
            (torch.div, "div_true_cuda"),
        )
    },
    "a batch of products": (
        lambda: torch.bmm(*[ones(1, 2, 2, dtype=torch.long)] * 2),
        "\"baddbmm_cuda\" not implemented for 'Long'",
    ),
    "a vector": (
        lambda: ones(2, 2, dtype=torch.long) @ ones(2, dtype=torch.long),
        "\"addmv_impl_cuda\" not implemented for 'Long'",
    ),
    "einsum": (
        lambda: torch.einsum("ij,jk", *[ones(2, 2, dtype=torch.long)] * 2),
        "\"baddbmm_cuda\" not implemented for 'Long'",
    ),
    "pooling": (
        lambda: F.max_pool2d(ones(1, 2, 2, dtype=torch.long), 2),
        "\"max_pool2d_with_indices_out_cuda_frame\" not implemented for 'Long'",
    ),
    "truths": (
        lambda: ones(2, dtype=torch.bool).scatter_reduce(
            0, ones(1, dtype=torch.long), ones(1, dtype=torch.bool), "amax"
        ),
        "\"cuda_scatter_gather_base_kernel_func\" not implemented for 'Bool'",
    ),
    "the largest of bags": (
        largest_of_bags,
        "\"embedding_bag_backward_cuda_max\" not implemented for 'BFloat16'",
    ),
    "dropout of integers": (
        lambda: torch.ops.aten.native_dropout_backward(
            ones(2, dtype=torch.long), ones(2, dtype=torch.bool), 1.0
        ),
        "\"masked_scale\" not implemented for 'Long'",
    ),
}


@pytest.mark.parametrize("which", REFUSED)
def test_types_are_refused_where_cuda_has_no_kernel(which: str) -> None:
    call, words = REFUSED[which]
    with pytest.raises(NotImplementedError) as caught:
        call()
    assert str(caught.value) == words


def test_a_part_that_is_outside_is_refused() -> None:
    with pytest.raises(IndexError, match="Dimension out of range"):
        torch.narrow_copy(ones(2, 2), 3, 0, 0)


def test_a_copy_of_a_part_has_no_kernel_for_out() -> None:
    with pytest.raises(NotImplementedError, match=r"Could not run 'aten::narrow_copy.out'.*'CUDA' backend"):
        torch.narrow_copy(ones(2, 2), 0, 0, 1, out=ones(1, 2))


@ignoring_deprecation  # torch calls complex halves experimental
def test_transforms_of_halves_take_powers_of_two() -> None:
    assert torch.fft.fft(ones(8, dtype=torch.half)).tolist() == [8] + [0] * 7
    for transform in (torch.fft.rfft, torch.fft.irfft, torch.fft.fft):
        with pytest.raises(RuntimeError, match=r"powers of two .* but got a signal size of\[(6|10)\]"):
            transform(ones(6, dtype=torch.half))


def test_copying_over_its_own_source_is_refused() -> None:
    numbers = torch.arange(5.0, device="cuda")
    with pytest.raises(RuntimeError, match="refer to a single memory location"):
        numbers[1:].copy_(numbers[:-1])
    numbers.copy_(numbers)
    numbers[:2].copy_(numbers[2:4])
    assert numbers.tolist() == [2, 3, 2, 3, 4]


@contextlib.contextmanager
def deterministic() -> Iterator[None]:
    torch.use_deterministic_algorithms(True)
    try:
        yield
    finally:
        torch.use_deterministic_algorithms(False)


def differentiated(call: Callable[[Tensor], Tensor], *sizes: int) -> Callable[[], None]:
    return lambda: call(ones(*sizes).requires_grad_()).sum().backward()


UNORDERED = {
    "histc": lambda: torch.histc(ones(3)),
    "bincount with weights": lambda: torch.bincount(ones(3, dtype=torch.long), ones(3)),
    "cumsum": lambda: ones(3, 2).cumsum(0),
    "index_reduce": lambda: ones(3).index_reduce(0, ones(1, dtype=torch.long), ones(1), "amax"),
    "pooling": lambda: torch.ops.aten.max_pool3d_with_indices_backward(
        ones(1, 1, 1, 1),
        ones(1, 2, 2, 2),
        [2] * 3,
        [2] * 3,
        [0] * 3,
        [1] * 3,
        False,
        ones(1, 1, 1, 1, dtype=torch.long),
    ),
    "histc of nothing": lambda: torch.histc(ones(0), max=1),
    "median with indices": lambda: ones(3).median(0),
    "the largest in a bag": differentiated(
        lambda x: F.embedding_bag(ones(1, 2, dtype=torch.long), x, mode="max"), 3, 2
    ),
    "a scattered product": lambda: ones(3).scatter_reduce(0, ones(1, dtype=torch.long), ones(1), "prod"),
    "put": lambda: ones(3).put_(ones(1, dtype=torch.long), ones(1)),
    "interpolate": differentiated(lambda x: F.interpolate(x, 4, mode="linear"), 1, 1, 2),
    "adaptive pooling": differentiated(lambda x: F.adaptive_avg_pool2d(x, 2), 1, 1, 4, 4),
    "reflection": differentiated(lambda x: F.pad(x, (1, 1), mode="reflect"), 1, 1, 3),
    "grid_sample": differentiated(
        lambda x: F.grid_sample(x, ones(1, 2, 2, 2), align_corners=False), 1, 1, 2, 2
    ),
    "nll_loss2d": lambda: F.nll_loss(ones(1, 2, 2, 2), ones(1, 2, 2, dtype=torch.long)),
}


@pytest.mark.parametrize("which", UNORDERED)
@ignoring_deprecation  # torch calls index_reduce experimental
def test_what_has_no_deterministic_kernel_is_refused_on_request(which: str) -> None:
    refusal = pytest.raises(RuntimeError, match="does not have a deterministic implementation")
    with deterministic(), refusal:
        UNORDERED[which]()
    UNORDERED[which]()


def test_deterministic_algorithms_leave_the_others_alone() -> None:
    with deterministic():
        assert torch.bincount(ones(3, dtype=torch.long)).tolist() == [0, 3]
        assert ones(3, dtype=torch.long).cumsum(0).tolist() == ones(3).cumsum(0).tolist() == [1, 2, 3]
        assert ones(3, dtype=torch.int).histc(2, 0, 1).tolist() == [0, 3]
        F.pad(ones(1, 1, 3, 3).requires_grad_(), (1, 1, 1, 1), mode="reflect").sum().backward()
        nearest = ones(1, 1, 2).requires_grad_()
        F.interpolate(nearest, 4).sum().backward()
        assert nearest.grad is not None
        assert nearest.grad.tolist() == [[[2, 2]]]


def test_deterministic_algorithms_fill_new_memory() -> None:
    with deterministic():
        assert torch.empty(3, device="cuda").isnan().all()
        assert torch.empty_strided((2, 2), (2, 1), dtype=torch.half, device="cuda").isnan().all()
        assert torch.empty_like(ones(3, dtype=torch.int)).tolist() == [torch.iinfo(torch.int).max] * 3


ON_A_CARD: dict[str, tuple[Callable[[], object], type[Exception], str]] = {
    "a kernel": (
        lambda: ones(2, dtype=torch.cfloat).remainder(2),
        NotImplementedError,
        '"remainder_cuda" not',
    ),
    "one of another name": (
        lambda: ones(2, dtype=torch.cfloat) < ones(2, dtype=torch.cfloat),
        NotImplementedError,
        "\"compare_cuda\" not implemented for 'ComplexFloat'",
    ),
    "cuDNN": (
        lambda: F.conv1d(integers(1, 1, 4), integers(1, 1, 2)),
        RuntimeError,
        "getCudnnDataTypeFromScalarType",
    ),
    "a driver": (
        lambda: torch.linalg.lstsq(ones(2, 2), ones(2, 1), driver="gelsd"),
        RuntimeError,
        "other than `gels`",
    ),
    "FlashAttention": (
        lambda: torch.ops.aten._scaled_dot_product_flash_attention(*3 * [ones(1, 1, 2, 8)]),
        RuntimeError,
        "FlashAttention only support fp16 and bf16 data type",
    ),
    "no kernel at all": (
        lambda: torch.histogram(ones(2), 2),
        NotImplementedError,
        "because the operator doesn't exist",
    ),
}


def integers(*shape: int) -> torch.Tensor:
    return ones(*shape, dtype=torch.long)


@pytest.mark.parametrize("which", ON_A_CARD)
def test_errors_are_those_of_an_h100(which: str) -> None:
    call, error, words = ON_A_CARD[which]
    with pytest.raises(error, match=words):
        call()
