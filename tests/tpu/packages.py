"""flash_attn and apex on torch_tpu beside float64 on the host: prints the largest errors."""

import math

import torch
from apex.normalization import FusedLayerNorm, FusedRMSNorm
from apex.optimizers import FusedAdam, FusedSGD
from flash_attn import flash_attn_func, flash_attn_varlen_func, flash_attn_with_kvcache
from flash_attn.losses.cross_entropy import CrossEntropyLoss

HALF = 0.05  # bfloat16 has 8 bits; the sums are of some 16 terms


def exact(query, key, value):
    query, key, value = (each.double().cpu().transpose(1, 2) for each in (query, key, value))
    key, value = (each.repeat_interleave(query.shape[1] // each.shape[1], 1) for each in (key, value))
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.shape[-1])
    hidden = torch.ones(scores.shape[-2:], dtype=torch.bool).triu(1)
    return (scores.masked_fill(hidden, -math.inf).softmax(-1) @ value).transpose(1, 2)


def check(found, expected, limit):
    assert found.is_cuda
    error = (found.double().cpu() - expected).abs().max().item()
    assert error < limit, error


torch.manual_seed(0)
heads = [torch.randn(2, 16, count, 32, device="cuda", dtype=torch.bfloat16) for count in (4, 2, 2)]
leaves = [each.detach().requires_grad_() for each in heads]
wanted = [each.detach().double().cpu().requires_grad_() for each in heads]
result, reference = flash_attn_func(*leaves, causal=True), exact(*wanted)
check(result, reference, HALF)
result.float().pow(2).sum().backward()
reference.pow(2).sum().backward()
for leaf, true in zip(leaves, wanted, strict=True):
    check(leaf.grad, true.grad, 4 * HALF)

starts = torch.tensor([0, 5, 16], dtype=torch.int32, device="cuda")
packed = [each[0] for each in heads]
ragged = flash_attn_varlen_func(*packed, starts, starts, 11, 11, causal=True)
for first, last in ((0, 5), (5, 16)):
    check(ragged[first:last][None], exact(*(each[first:last][None] for each in packed)), HALF)

caches = [torch.zeros(2, 32, 2, 32, device="cuda", dtype=torch.bfloat16) for _ in range(2)]
lengths = torch.zeros(2, dtype=torch.int32, device="cuda")
for position in range(3):
    step = [each[:, position : position + 1].contiguous() for each in heads]
    decoded = flash_attn_with_kvcache(step[0], *caches, *step[1:], cache_seqlens=lengths, causal=True)
    check(decoded, exact(*(each[:, : position + 1] for each in heads))[:, position:], HALF)
    lengths += 1

for fused, plain, options in (
    (FusedAdam, torch.optim.AdamW, {"lr": 0.1, "weight_decay": 0.01}),
    (FusedSGD, torch.optim.SGD, {"lr": 0.1, "momentum": 0.9}),
):
    start = torch.linspace(-1, 1, 8)
    one, other = torch.nn.Parameter(start.cuda()), torch.nn.Parameter(start.double())
    optimizers = fused([one], **options), plain([other], **options)
    for _ in range(3):
        for parameter, optimizer in zip((one, other), optimizers, strict=True):
            optimizer.zero_grad()
            (parameter**2).sum().backward()
            optimizer.step()
    check(one.detach(), other.detach(), 1e-6)

x = torch.randn(4, 16, device="cuda")
check(FusedLayerNorm(16).cuda()(x).detach(), torch.nn.functional.layer_norm(x.double().cpu(), (16,)), 1e-6)
rms = torch.nn.functional.rms_norm(x.double().cpu(), (16,), eps=1e-5)
check(FusedRMSNorm(16).cuda()(x).detach(), rms, 1e-6)
labels = torch.randint(0, 16, (4,))
loss = torch.nn.functional.cross_entropy(x.double().cpu(), labels)
check(CrossEntropyLoss()(x, labels.cuda()), loss, 1e-6)
print("done")
