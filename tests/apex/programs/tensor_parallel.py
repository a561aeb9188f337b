"""What apex.transformer does in two processes that share tensors, against one that has them whole."""

from __future__ import annotations

from typing import Any

import torch
import torch.distributed as dist
from apex.transformer import parallel_state, tensor_parallel
from apex.transformer.amp import GradScaler
from apex.transformer.pipeline_parallel import build_model, get_forward_backward_func
from apex.transformer.pipeline_parallel import utils as pipeline_utils
from apex.transformer.utils import gather_split_1d_tensor, split_tensor_into_1d_equal_chunks
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close


def values(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).cuda()


def filled(seed: int) -> Any:
    return lambda weight: weight.copy_(
        torch.randn(weight.shape, generator=torch.Generator().manual_seed(seed))
    )


def own(whole: Tensor, rank: int, dim: int) -> Tensor:
    return whole.chunk(2, dim)[rank]


def check_groups(rank: int) -> None:
    assert parallel_state.is_unitialized()
    parallel_state.initialize_model_parallel(2, 1)
    tensor_parallel.model_parallel_cuda_manual_seed(5)
    assert parallel_state.model_parallel_is_initialized()
    assert parallel_state.get_rank_info() == (0, rank, 0, None)
    assert parallel_state.get_tensor_model_parallel_world_size() == 2
    assert parallel_state.get_data_parallel_world_size() == 1
    assert parallel_state.get_tensor_model_parallel_src_rank() == 0
    assert parallel_state.is_pipeline_first_stage()
    assert parallel_state.is_pipeline_last_stage()
    assert parallel_state.is_rank_in_embedding_group()
    assert parallel_state.get_pipeline_model_parallel_next_rank() == rank
    states = [None, None]
    here = tensor_parallel.get_cuda_rng_tracker().get_states()["model-parallel-rng"].tolist()
    dist.all_gather_object(states, here)
    assert states[0] != states[1]


def check_linear_layers(rank: int) -> None:
    whole = nn.Linear(8, 6).cuda(), nn.Linear(6, 4).cuda()
    options = {"use_cpu_initialization": True}
    first = tensor_parallel.ColumnParallelLinear(
        8, 6, gather_output=False, init_method=filled(1), keep_master_weight_for_test=True, **options
    ).cuda()
    second = tensor_parallel.RowParallelLinear(
        6, 4, input_is_parallel=True, init_method=filled(2), **options
    ).cuda()
    for module, seed in zip(whole, (1, 2), strict=True):
        module.weight.data.copy_(filled(seed)(torch.empty(module.weight.shape)))
        nn.init.zeros_(module.bias)
    assert_close(first.master_weight.cuda(), whole[0].weight.data)
    input, full = (values(3, 5, 2, 8).requires_grad_() for _ in range(2))
    output, bias = second(first(input)[0].tanh())
    expected = whole[1](whole[0](full).tanh())
    assert bias is None
    assert_close(output, expected)
    output.square().sum().backward()
    expected.square().sum().backward()
    assert_close(input.grad, full.grad)
    assert_close(first.weight.grad, own(whole[0].weight.grad, rank, 0))
    assert_close(first.bias.grad, own(whole[0].bias.grad, rank, 0))
    assert_close(second.weight.grad, own(whole[1].weight.grad, rank, 1))
    assert_close(second.bias.grad, whole[1].bias.grad)
    assert first.weight.tensor_model_parallel
    assert first.weight.partition_dim == 0
    gathered, kept = tensor_parallel.ColumnParallelLinear(
        8,
        6,
        init_method=filled(1),
        skip_bias_add=True,
        no_async_tensor_model_parallel_allreduce=True,
        **options,
    ).cuda()(input)
    assert_close(gathered, F.linear(full, whole[0].weight))
    assert kept.shape == (3,)


def check_sequences_in_parts(rank: int) -> None:
    weight = filled(1)(torch.empty(6, 8)).cuda()
    column = tensor_parallel.ColumnParallelLinear(
        8,
        6,
        gather_output=False,
        init_method=filled(1),
        use_cpu_initialization=True,
        no_async_tensor_model_parallel_allreduce=True,
        sequence_parallel_enabled=True,
        gradient_accumulation_fusion=True,
    ).cuda()
    column.weight.main_grad = torch.zeros(3, 8).cuda()
    full = values(3, 4, 2, 8).requires_grad_()
    part = own(full.detach(), rank, 0).clone().requires_grad_()
    output, _ = column(part)
    expected = F.linear(full, weight)
    assert_close(output, own(expected, rank, 2))
    (output * own(values(4, 4, 2, 6), rank, 2)).sum().backward()
    (expected * values(4, 4, 2, 6)).sum().backward()
    assert_close(part.grad, own(full.grad, rank, 0))
    of_weight = torch.einsum("sbo,sbi->oi", values(4, 4, 2, 6), full.detach())
    assert_close(column.weight.main_grad, own(of_weight, rank, 0))
    row = tensor_parallel.RowParallelLinear(
        8,
        6,
        input_is_parallel=True,
        init_method=filled(1),
        use_cpu_initialization=True,
        sequence_parallel_enabled=True,
    ).cuda()
    assert_close(row(own(full.detach(), rank, 2))[0], own(expected.detach(), rank, 0))


def check_vocabulary(rank: int) -> None:
    embedding = tensor_parallel.VocabParallelEmbedding(
        10, 4, init_method=filled(1), use_cpu_initialization=True
    ).cuda()
    whole = filled(1)(torch.empty(10, 4)).cuda().requires_grad_()
    tokens = torch.tensor([[0, 9, 5], [4, 5, 1]]).cuda()
    output, expected = embedding(tokens), F.embedding(tokens, whole)
    assert_close(output, expected)
    output.square().sum().backward()
    expected.square().sum().backward()
    assert_close(embedding.weight.grad, own(whole.grad, rank, 0))
    logits = values(2, 3, 2, 8).requires_grad_()
    part = own(logits.detach(), rank, 2).clone().requires_grad_()
    target = torch.tensor([[0, 7], [3, 4], [5, 2]]).cuda()
    losses = tensor_parallel.vocab_parallel_cross_entropy(part, target)
    truth = F.cross_entropy(logits.flatten(0, 1), target.flatten(), reduction="none").view(3, 2)
    assert_close(losses, truth)
    (losses * values(3, 3, 2)).sum().backward()
    (truth * values(3, 3, 2)).sum().backward()
    assert_close(part.grad, own(logits.grad, rank, 2))


def check_data_and_checkpoints(rank: int) -> None:
    data = {"tokens": torch.arange(6).view(2, 3), "labels": torch.arange(4)} if rank == 0 else {}
    given = tensor_parallel.broadcast_data(["tokens", "labels"], data, torch.int64)
    assert given["tokens"].tolist() == [[0, 1, 2], [3, 4, 5]]
    assert given["labels"].is_cuda
    assert_close(gather_split_1d_tensor(split_tensor_into_1d_equal_chunks(values(1, 2, 4))), values(1, 8))

    def dropped(input: Tensor) -> Tensor:
        with tensor_parallel.get_cuda_rng_tracker().fork():
            return F.dropout(input, 0.5) * input

    input = values(1, 40).requires_grad_()
    output = tensor_parallel.checkpoint(dropped, False, input)
    kept = (output != 0).float()
    output.sum().backward()
    assert_close(input.grad, kept * input.detach() * 4)


def check_scaling(rank: int) -> None:
    scaler = GradScaler(init_scale=8.0)
    param = nn.Parameter(torch.ones(2).cuda())
    optimizer = torch.optim.SGD([param], lr=1.0)
    scaler.scale(param.sum()).backward()
    if rank == 1:
        param.grad[0] = float("inf")
    scaler.step(optimizer)
    scaler.update()
    assert param.tolist() == [1, 1]  # one process found it, neither steps
    assert scaler.get_scale() == 4.0


def check_micro_batches(rank: int) -> None:
    (model,) = build_model(lambda pre_process, post_process: nn.Linear(4, 1, bias=False), wrap_with_ddp=False)
    nn.init.ones_(model.weight)
    pipeline_utils.setup_microbatch_calculator(rank, None, 6, 2, 1)
    assert pipeline_utils.get_num_microbatches() == 3
    run = get_forward_backward_func(None, 1)

    def step(batch: list[Tensor], module: nn.Module) -> Any:
        output = module(batch[0])
        return output, lambda each: (each.sum(), each.detach().sum())

    losses = run(step, [values(1, 6, 4)], model, forward_only=False)
    assert_close(torch.stack(losses).sum(), values(1, 6, 4).sum())
    assert_close(model.weight.grad, values(1, 6, 4).sum(0, keepdim=True) / 3)
    model.weight.shared = True  # what apex counts, it says of what is shared
    norm = pipeline_utils.calc_params_l2_norm(model, bf16=False)
    assert_close(torch.tensor(norm), torch.tensor(2.0))
    averages = pipeline_utils.average_losses_across_data_parallel_group([torch.ones(1).cuda() * rank])
    assert averages.item() == rank


def main(rank: int) -> None:
    for check in (
        check_groups,
        check_linear_layers,
        check_sequences_in_parts,
        check_vocabulary,
        check_data_and_checkpoints,
        check_scaling,
        check_micro_batches,
    ):
        check(rank)
    parallel_state.destroy_model_parallel()
    assert parallel_state.is_unitialized()
    parallel_state.initialize_model_parallel(1, 2)
    assert parallel_state.get_pipeline_model_parallel_rank() == rank
    assert parallel_state.get_pipeline_model_parallel_prev_rank() == 1 - rank
    assert parallel_state.is_pipeline_last_stage() is (rank == 1)
    assert parallel_state.is_rank_in_position_embedding_group() is (rank == 0)
    parallel_state.destroy_model_parallel()
