"""apex.transformer in one process; for two processes see programs/two_processes.py."""

from __future__ import annotations

import hypothesis
import hypothesis.strategies as st
import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

from tests.apex.precision import check

HALVES = (torch.float16, torch.bfloat16)


def values(seed: int, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).to("cuda", dtype)


def softmax(scores: Tensor, mask: Tensor | None, scale: float) -> Tensor:
    full = (scores if scores.dtype == torch.float64 else scores.float()) * scale
    full = full if mask is None else full.masked_fill(mask, -10000.0)
    probabilities = full.softmax(-1)
    if mask is not None:
        probabilities = probabilities * ~mask.all(-1, keepdim=True)
    return probabilities.to(scores.dtype)


def test_softmax() -> None:
    from apex.transformer.functional import fused_softmax

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
    from apex.transformer.functional import FusedScaleMaskSoftmax
    from apex.transformer.functional.fused_softmax import GenericFusedScaleMaskSoftmax

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
    generic = GenericFusedScaleMaskSoftmax(False, True, True, masked, True, None)
    assert generic(scores.bfloat16(), mask).dtype == torch.bfloat16
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
    from apex.transformer import functional

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


def test_rotary_embeddings_of_packed_sequences_and_images() -> None:
    from apex.transformer import functional

    begins, angles = torch.tensor([0, 3, 4, 9], dtype=torch.int32, device="cuda"), values(1, 6, 1, 1, 6)
    places = [0, 1, 2, 0, 0, 1, 2, 3, 4]
    check(
        lambda each: functional.fused_apply_rotary_pos_emb_thd(each, begins, angles),
        lambda each: rotated(each, angles.cpu()[places, 0]),
        [values(0, 9, 2, 8)],
    )
    rows, columns = values(2, 1, 5, 1, 4), values(3, 1, 4, 1, 4)

    def image(t: Tensor) -> Tensor:
        first, second = t.unflatten(1, (3, 4)).chunk(2, -1)
        parts = rotated(first, rows.cpu()[:, :3].unsqueeze(2)), rotated(second, columns.cpu().unsqueeze(1))
        return torch.cat(parts, -1).flatten(1, 2)

    tables = rows.cos(), rows.sin(), columns.cos(), columns.sin()
    check(
        lambda each: functional.fused_apply_rotary_pos_emb_2d(each, 3, 4, *tables),
        image,
        [values(0, 2, 12, 2, 8)],
    )
    with pytest.raises(AssertionError, match="equal to img_h"):
        functional.fused_apply_rotary_pos_emb_2d(values(0, 2, 12, 2, 8), 3, 5, *tables)


def test_samplers() -> None:
    from apex.transformer._data import MegatronPretrainingRandomSampler, MegatronPretrainingSampler

    in_order = [list(MegatronPretrainingSampler(11, 0, 2, rank, 2)) for rank in range(2)]
    assert in_order == [[[0, 1], [4, 5]], [[2, 3], [6, 7]]]
    assert list(MegatronPretrainingSampler(11, 4, 2, 0, 2, drop_last=False)) == [[4, 5], [8, 9]]
    random = [list(MegatronPretrainingRandomSampler(11, 0, 2, rank, 2)) for rank in range(2)]
    assert sorted(sum(random[0] + random[1], [])) == list(range(8))
    assert list(MegatronPretrainingRandomSampler(11, 4, 2, 1, 2)) == random[1][1:]
    for arguments, message in (((0, 0, 1, 0, 1), "no sample"), ((4, 4, 1, 0, 1), "no samples left")):
        with pytest.raises(RuntimeError, match=message):
            MegatronPretrainingSampler(*arguments)
    with pytest.raises(ValueError, match="data_parallel_rank"):
        MegatronPretrainingRandomSampler(4, 0, 1, 1, 1)


def test_micro_batches() -> None:
    from apex.transformer.microbatches import build_num_microbatches_calculator

    constant = build_num_microbatches_calculator(1, None, 12, 2, 3)
    assert (constant.get(), constant.get_current_global_batch_size()) == (2, 12)
    growing = build_num_microbatches_calculator(1, [4, 4, 16], 12, 2, 2)
    seen = []
    for samples in (0, 7, 8, 15, 17):
        growing.update(samples, True)
        seen.append(growing.get())
    assert seen == [1, 1, 2, 2, 3]
    with pytest.raises(AssertionError, match="is not divisible by micro batch size"):
        build_num_microbatches_calculator(1, None, 13, 2, 3)


def test_the_micro_batches_of_a_run() -> None:
    from apex.transformer.pipeline_parallel import utils

    with pytest.raises(AssertionError, match="is not initialized"):
        utils.get_num_microbatches()
    utils.setup_microbatch_calculator(1, None, 6, 2, 1)
    try:
        assert (utils.get_num_microbatches(), utils.get_micro_batch_size()) == (3, 2)
        assert utils.get_kth_microbatch([torch.arange(6)], 1)[0].tolist() == [2, 3]
        with pytest.raises(AssertionError, match="already initialized"):
            utils.setup_microbatch_calculator(1, None, 6, 2, 1)
    finally:
        utils._GLOBAL_NUM_MICROBATCHES_CALCULATOR = None


def test_documents_in_a_sequence() -> None:
    from apex.transformer.pipeline_parallel.utils import get_ltor_masks_and_position_ids

    data = torch.tensor([[5, 0, 7, 8, 0, 3]], device="cuda")
    mask, losses, positions = get_ltor_masks_and_position_ids(data, 0, True, True, True)
    assert positions.tolist() == [[0, 1, 0, 1, 2, 0]]
    assert losses.tolist() == [[1, 0, 1, 1, 0, 1]]
    assert (~mask[0, 0]).int().tolist()[4] == [0, 0, 1, 1, 1, 0]
    mask, losses, positions = get_ltor_masks_and_position_ids(data, 0, False, False, False)
    assert torch.equal(mask[0, 0], torch.ones(6, 6, device="cuda").triu(1).bool())
    assert positions.tolist() == [list(range(6))]
    assert losses.all()


def test_layers_that_know_of_sequences_in_parts() -> None:
    from apex.transformer import layers

    for module in (
        layers.FusedLayerNorm(4, sequence_parallel_enabled=True),
        layers.MixedFusedLayerNorm(4, sequence_parallel_enabled=True),
        layers.FastLayerNorm(4, sequence_parallel_enabled=True),
    ):
        assert module.weight.sequence_parallel_enabled
        assert module.cuda()(values(0, 3, 4)).shape == (3, 4)


def test_without_groups_there_is_an_error() -> None:
    from apex.transformer import parallel_state

    assert parallel_state.get_rank_info() == (0, 0, 0, 0)
    with pytest.raises(AssertionError, match="intra_layer_model parallel group is not initialized"):
        parallel_state.get_tensor_model_parallel_group()
    parallel_state.set_tensor_model_parallel_rank(3)
    assert parallel_state.get_tensor_model_parallel_rank() == 3
    parallel_state.destroy_model_parallel()


@pytest.mark.platforms("cpu")
def test_what_went_to_megatron_says_so() -> None:
    from apex.transformer import parallel_state, pipeline_parallel

    with pytest.raises(ImportError, match=r"tensor_parallel.*megatron\.core"):
        from apex.transformer import tensor_parallel  # noqa: F401
    with pytest.raises(ImportError, match=r"tensor_parallel.*megatron\.core\.tensor_parallel"):
        import apex.transformer.tensor_parallel.layers  # noqa: F401
    with pytest.raises(AttributeError, match=r"build_model.*megatron\.core\.pipeline_parallel"):
        _ = pipeline_parallel.build_model
    with pytest.raises(AttributeError, match=r"get_embedding_group.*megatron\.core\.parallel_state"):
        parallel_state.get_embedding_group()
