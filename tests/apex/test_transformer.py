"""The fused functions of apex.transformer."""

import hypothesis
import hypothesis.strategies as st
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tests.apex.precision import check, values
from tests.later import Later

functional = Later("apex.transformer.functional")
fused_softmax = Later("apex.transformer.functional.fused_softmax")
extension = Later("fused_rotary_positional_embedding")
FusedScaleMaskSoftmax = Later("apex.transformer.functional", "FusedScaleMaskSoftmax")


HALVES = (torch.float16, torch.bfloat16)


def softmax(scores: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    full = (scores if scores.dtype == torch.float64 else scores.float()) * scale
    full = full if mask is None else full.masked_fill(mask, -10000.0)
    probabilities = full.softmax(-1)
    if mask is not None:
        probabilities = probabilities * ~mask.all(-1, keepdim=True)
    return probabilities.to(scores.dtype)


def test_softmax() -> None:
    @hypothesis.settings(max_examples=12, derandomize=True, deadline=None, database=None)
    @hypothesis.given(
        st.integers(1, 3), st.integers(1, 3), st.integers(2, 9), st.integers(2, 9), st.sampled_from(HALVES)
    )
    def agrees(batch: int, heads: int, queries: int, keys: int, dtype: torch.dtype) -> None:
        scores = values(0, batch, heads, queries, keys, dtype=dtype)
        mask = values(1, batch, 1, queries, keys) > 0.3
        mask[0, 0, 0] = True  # masks one row entirely
        for given in (mask, mask.byte()):
            for function in (
                fused_softmax.scaled_masked_softmax,
                fused_softmax.generic_scaled_masked_softmax,
            ):
                check(
                    lambda each: function(each, given, 0.5),  # noqa: B023
                    lambda each: softmax(each, mask.cpu(), 0.5),
                    [scores],
                )
        check(
            lambda each: fused_softmax.scaled_masked_softmax(each, None, 2.0),
            lambda each: softmax(each, None, 2.0),
            [scores],
        )
        square = scores[..., :queries, :queries] if keys >= queries else scores[..., :keys, :]
        causal = torch.ones(square.shape[-2:], dtype=torch.bool).triu(1)
        check(
            lambda each: fused_softmax.scaled_upper_triang_masked_softmax(each, None, 0.5),
            lambda each: softmax(each, causal, 0.5),
            [square.contiguous()],
        )

    agrees()
    with pytest.raises(RuntimeError, match="Only fp16 and bf16 are supported"):
        fused_softmax.scaled_masked_softmax(values(0, 1, 1, 2, 2), None, 1.0)
    with pytest.raises(AssertionError, match="only for self attention"):
        fused_softmax.scaled_upper_triang_masked_softmax(values(0, 1, 1, 2, 3).half(), None, 1.0)


def test_the_module_takes_the_kernel_where_apex_does() -> None:
    from apex.transformer import AttnMaskType

    def masked(scores: Tensor, mask: Tensor) -> Tensor:
        return scores.masked_fill(mask, -10000.0)

    scores = values(0, 2, 4, 32, 32, dtype=torch.float16)
    for kind in AttnMaskType:
        causal = torch.ones(32, 32, dtype=torch.bool, device="cuda").triu(1)
        mask = causal.expand(2, 1, 32, 32) if kind == AttnMaskType.causal else values(1, 2, 1, 32, 32) > 0
        modules = [
            FusedScaleMaskSoftmax(True, False, kind, fused, masked, True, 0.5) for fused in (True, False)
        ]
        taken = [module.is_kernel_available(mask, *scores.shape) for module in modules]
        assert taken == [True, False]
        assert_close(modules[0](scores, mask), modules[1](scores, mask), rtol=1e-2, atol=1e-3)
        assert not modules[0].is_kernel_available(mask, 2, 4, 30, 32)
        assert not modules[0].is_kernel_available(mask, 2, 4, 32, 16)
    for arguments, error in (
        ((True, True, AttnMaskType.causal, True, masked, True, None), RuntimeError),
        ((True, False, AttnMaskType.causal, True, masked, False, 2.0), RuntimeError),
        ((True, False, None, True, masked, True, None), ValueError),
    ):
        with pytest.raises(error):
            FusedScaleMaskSoftmax(*arguments)


def rotated(t: Tensor, angles: Tensor) -> Tensor:
    turning, rest = t[..., : angles.size(-1)], t[..., angles.size(-1) :]
    full = turning if t.dtype == torch.float64 else turning.float()
    first, second = full.chunk(2, -1)
    cos, sin = (each.to(full.dtype) for each in (angles.double().cos(), angles.double().sin()))
    return torch.cat([(full * cos + torch.cat([-second, first], -1) * sin).to(t.dtype), rest], -1)


@pytest.mark.parametrize("transposed", [False, True])
def test_rotary_embeddings(transposed: bool) -> None:
    for dtype in (torch.float32, *HALVES):
        for features, turning in ((8, 8), (8, 4)):
            t, angles = values(0, 5, 2, 3, features, dtype=dtype), values(1, 5, 1, 1, turning)
            check(
                lambda each: functional.fused_apply_rotary_pos_emb(each, angles, transposed),  # noqa: B023
                lambda each: rotated(each, angles.cpu()),  # noqa: B023
                [t],
            )
            output = functional.fused_apply_rotary_pos_emb_cached(t, angles.cos(), angles.sin(), transposed)
            assert_close(output, functional.fused_apply_rotary_pos_emb(t, angles, transposed))
            assert output.transpose(0, 1).is_contiguous() == transposed


def test_rotary_embeddings_of_packed_sequences() -> None:
    begins, angles = torch.tensor([0, 3, 4, 9], dtype=torch.int32, device="cuda"), values(1, 6, 1, 1, 6)
    places = [0, 1, 2, 0, 0, 1, 2, 3, 4]
    check(
        lambda each: functional.fused_apply_rotary_pos_emb_thd(each, begins, angles),
        lambda each: rotated(each, angles.cpu()[places, 0]),
        [values(0, 9, 2, 8)],
    )


def test_the_extension_of_rotary_embeddings() -> None:
    t, angles, grad = values(0, 5, 2, 3, 8), values(1, 5, 1, 1, 4), values(2, 5, 2, 3, 8)
    begins = torch.tensor([0, 2, 5], dtype=torch.int32, device="cuda")
    cosines = angles.cos(), angles.sin()
    for forward, backward, before, given in (
        (extension.forward, extension.backward, t, (angles,)),
        (extension.forward_cached, extension.backward_cached, t, cosines),
    ):
        leaf = before.clone().requires_grad_()
        (expected,) = torch.autograd.grad(forward(leaf, *given), leaf, grad)
        for transposed in (False, True):
            assert_close(backward(grad, *given, transposed), expected)
    leaf = t[:, 0].clone().requires_grad_()
    (expected,) = torch.autograd.grad(extension.forward_thd(leaf, begins, angles), leaf, grad[:, 0])
    assert_close(extension.backward_thd(grad[:, 0], begins, angles), expected)


def test_the_gradients_of_the_extensions_of_softmax() -> None:
    import scaled_masked_softmax_cuda as extension

    scores, grad = values(0, 2, 3, 4, 5).half().requires_grad_(), values(1, 2, 3, 4, 5).half()
    output = extension.forward(scores, torch.zeros(2, 1, 4, 5, device="cuda"), 0.5)
    (expected,) = torch.autograd.grad(output, scores, grad)
    assert_close(extension.backward(grad, output.detach(), 0.5), expected, rtol=1e-2, atol=1e-3)


@pytest.mark.platforms("cpu")
def test_what_went_to_megatron_says_so() -> None:
    with pytest.raises(ImportError, match=r"tensor_parallel.*megatron\.core"):
        from apex.transformer import tensor_parallel  # noqa: F401
    with pytest.raises(ImportError, match=r"parallel_state.*megatron\.core\.parallel_state"):
        from apex.transformer import parallel_state  # noqa: F401
    with pytest.raises(ImportError, match=r"pipeline_parallel.*megatron\.core\.num_microbatches_calculator"):
        from apex.transformer.pipeline_parallel.utils import get_num_microbatches  # noqa: F401
