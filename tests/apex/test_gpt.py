"""A small GPT of Megatron's parts, trained as its trainers do, against the same in plain PyTorch."""

from __future__ import annotations

import contextlib
import math
from collections.abc import Iterator
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

SIZE, HEADS, VOCABULARY, LENGTH = 16, 2, 24, 6
HEAD = SIZE // HEADS


@contextlib.contextmanager
def one_process() -> Iterator[None]:
    """Has this process be all of a training run, whose batches of 4 are seen in micro-batches of 2."""
    from apex.transformer import parallel_state, tensor_parallel
    from apex.transformer.pipeline_parallel import utils

    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    calculator = utils._GLOBAL_NUM_MICROBATCHES_CALCULATOR
    try:
        parallel_state.initialize_model_parallel(1, 1)
        tensor_parallel.model_parallel_cuda_manual_seed(1)
        utils.setup_microbatch_calculator(0, None, 4, 2, 1)
        yield
    finally:
        utils._GLOBAL_NUM_MICROBATCHES_CALCULATOR = calculator
        tensor_parallel.get_cuda_rng_tracker().reset()
        parallel_state.destroy_model_parallel()
        dist.destroy_process_group()


def angles() -> Tensor:
    frequencies = 10000 ** -(torch.arange(0, HEAD, 2) / HEAD)
    each = torch.outer(torch.arange(LENGTH), frequencies)
    return torch.cat([each, each], -1)[:, None, None].cuda()


def network() -> Any:
    """Returns the network, whose modules are in a ModuleDict, with the names of parameters."""
    from apex.transformer import AttnMaskType, tensor_parallel
    from apex.transformer.functional import FusedScaleMaskSoftmax, fused_apply_rotary_pos_emb
    from apex.transformer.layers import FusedLayerNorm

    class GPT(nn.Module):
        def __init__(self, pre_process: bool, post_process: bool) -> None:
            super().__init__()
            assert pre_process
            assert post_process
            self.embedding = tensor_parallel.VocabParallelEmbedding(VOCABULARY, SIZE)
            self.first_norm, self.last_norm = FusedLayerNorm(SIZE), FusedLayerNorm(SIZE)
            self.qkv = tensor_parallel.ColumnParallelLinear(SIZE, 3 * SIZE, gather_output=False)
            self.dense = tensor_parallel.RowParallelLinear(SIZE, SIZE, input_is_parallel=True)
            masked = lambda scores, mask: scores.masked_fill(mask, -10000.0)  # noqa: E731
            self.softmax = FusedScaleMaskSoftmax(False, False, AttnMaskType.padding, True, masked, True, None)

        def attention(self, hidden: Tensor, mask: Tensor) -> Tensor:
            mixed = self.qkv(self.first_norm(hidden))[0].unflatten(-1, (HEADS, -1))
            queries, keys, found = (part.contiguous() for part in mixed.chunk(3, -1))
            queries, keys = (fused_apply_rotary_pos_emb(each, angles()) for each in (queries, keys))
            scores = torch.einsum("sbhd,tbhd->bhst", queries, keys) / math.sqrt(HEAD)
            return self.dense(torch.einsum("bhst,tbhd->sbhd", self.softmax(scores, mask), found).flatten(2))[
                0
            ]

        def forward(self, tokens: Tensor, labels: Tensor, mask: Tensor) -> Tensor:
            hidden = self.embedding(tokens).transpose(0, 1).contiguous()
            hidden = hidden + tensor_parallel.checkpoint(self.attention, False, hidden, mask)
            logits = F.linear(self.last_norm(hidden), self.embedding.weight)
            return tensor_parallel.vocab_parallel_cross_entropy(logits, labels.transpose(0, 1).contiguous())

    return GPT


def rotated(each: Tensor, turn: Tensor) -> Tensor:
    first, second = each.chunk(2, -1)
    return each * turn.cos() + torch.cat([-second, first], -1) * turn.sin()


def loss(named: dict[str, Tensor], batch: Tensor) -> Tensor:
    """Returns what the network's loss is."""

    def norm(name: str, hidden: Tensor) -> Tensor:
        return F.layer_norm(hidden, (SIZE,), named[f"{name}.weight"], named[f"{name}.bias"])

    def linear(name: str, hidden: Tensor) -> Tensor:
        return F.linear(hidden, named[f"{name}.weight"], named[f"{name}.bias"])

    hidden = F.embedding(batch[:, :-1], named["embedding.weight"])
    mixed = linear("qkv", norm("first_norm", hidden)).unflatten(-1, (HEADS, -1)).transpose(1, 2)
    queries, keys, found = mixed.chunk(3, -1)
    turn = angles().cpu().double()[:, 0, 0]
    scores = rotated(queries, turn) @ rotated(keys, turn).transpose(-1, -2) / math.sqrt(HEAD)
    weights = scores.masked_fill(torch.ones(LENGTH, LENGTH).triu(1).bool(), -torch.inf).softmax(-1)
    hidden = hidden + linear("dense", (weights @ found).transpose(1, 2).flatten(2))
    logits = norm("last_norm", hidden) @ named["embedding.weight"].T
    return F.cross_entropy(logits.flatten(0, 1), batch[:, 1:].flatten())


def test_a_step_of_a_gpt() -> None:
    from apex.optimizers import FusedAdam
    from apex.transformer.pipeline_parallel import build_model, get_forward_backward_func, utils
    from apex.transformer.pipeline_parallel.schedules import common

    batch = torch.randint(0, VOCABULARY, (4, LENGTH + 1), generator=torch.Generator().manual_seed(0))

    def forward(micro_batch: list[Tensor], module: nn.Module) -> Any:
        tokens = micro_batch[0]
        mask = torch.ones(LENGTH, LENGTH, device="cuda").triu(1).bool().expand(2, 1, -1, -1)
        losses = module(tokens[:, :-1], tokens[:, 1:], mask)
        return losses, lambda each: (
            each.mean(),
            utils.average_losses_across_data_parallel_group([each.mean()]),
        )

    with one_process():
        models = build_model(network(), wrap_with_ddp=False)
        groups = common._get_params_for_weight_decay_optimization(models)
        optimizer = FusedAdam(groups, lr=0.01, weight_decay=0.1)
        assert [len(group["params"]) for group in groups] == [3, 6]
        named = {name: param.detach().cpu().double() for name, param in models[0].named_parameters()}
        run = get_forward_backward_func(None, 1)
        reported = run(forward, [batch.cuda()], models, forward_only=False, tensor_shape=(LENGTH, 2, SIZE))
        for value in named.values():
            value.requires_grad_()
        expected = loss(named, batch)
        assert_close(torch.cat(reported).mean().cpu().double(), expected.detach(), rtol=1e-5, atol=1e-5)
        grads = torch.autograd.grad(expected, list(named.values()))
        for (name, param), grad in zip(models[0].named_parameters(), grads, strict=True):
            assert_close(param.grad.cpu().double(), grad, rtol=1e-3, atol=1e-5, msg=lambda text: name + text)  # noqa: B023
        optimizer.step()
        again = run(forward, [batch.cuda()], models, forward_only=True, tensor_shape=(LENGTH, 2, SIZE))
        assert torch.cat(again).mean() < torch.cat(reported).mean()
