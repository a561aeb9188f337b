"""apex.contrib.multihead_attn against float64, forwards and backwards."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from tests.apex.precision import check

LENGTH, BATCH, HEADS, SIZE = 5, 3, 2, 8
HEAD = SIZE // HEADS
HIDDEN = torch.tensor([[0, 0, 0, 0, 0], [0, 0, 0, 1, 1], [1, 0, 0, 0, 0]]).bool()
LATER = torch.ones(LENGTH, LENGTH).triu(1).bool()
MASKS: dict[str, tuple[Tensor, Tensor]] = {
    "key_padding_mask": (HIDDEN, torch.zeros(BATCH, 1, LENGTH).masked_fill(HIDDEN[:, None], -torch.inf)),
    "attn_mask": (LATER.byte(), torch.zeros(1, LENGTH, LENGTH).masked_fill(LATER, -torch.inf)),
}
"""What to pass, and what a reference adds to the products of queries and keys."""


def values(seed: int, *shape: int) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed)).cuda()


def sequences(seed: int, length: int = LENGTH, dtype: torch.dtype = torch.float32) -> Tensor:
    return values(seed, length, BATCH, SIZE).to(dtype)


def parts(joined: Tensor, number: int) -> list[Tensor]:
    """Returns weights or biases of queries, keys and values that lie side by side for each head."""
    by_head = joined.view(HEADS, number, HEAD, *joined.shape[1:])
    return [by_head[:, index].flatten(0, 1) for index in range(number)]


def attention(named: dict[str, Tensor], query: Tensor, source: Tensor, added: Tensor | None) -> Tensor:
    """Returns what modules of either kind do, one head after another."""
    input = query
    if "gamma" in named:
        centred = query - query.mean(-1, keepdim=True)
        root = (centred.pow(2).mean(-1, keepdim=True) + 1e-5).sqrt()
        input = centred / root * named["gamma"] + named["beta"]
    source = input if source is query else source
    projected = [
        each @ named[f"{name}_weight"].T + named.get(f"{name}_bias", torch.zeros(()))
        for each, name in zip((input, source, source), "qkv", strict=True)
    ]
    results = []
    for queries, keys, found in zip(*(each.split(HEAD, -1) for each in projected), strict=True):
        products = torch.einsum("qbs,kbs->bqk", queries, keys) / HEAD**0.5
        weights = (products if added is None else products + added.to(products.dtype)).softmax(-1)
        results.append(torch.einsum("bqk,kbs->qbs", weights, found))
    output = torch.cat(results, -1) @ named["out_weight"].T + named.get("out_bias", torch.zeros(()))
    return output + query if "gamma" in named else output


def unpacked(given: dict[str, Tensor]) -> dict[str, Tensor]:
    """Returns a module's parameters under the names that `attention` has for them."""
    names = {"out_proj": "out", "lyr_nrm_gamma_weights": "gamma", "lyr_nrm_beta_weights": "beta"}
    names |= {"lyr_nrm.weight": "gamma", "lyr_nrm.bias": "beta"}
    named: dict[str, Tensor] = {}
    for kind in ("weight", "bias"):
        for joined, single in (
            (f"in_proj_{kind}", "qkv"),
            (f"in_proj_{kind}_kv", "kv"),
            (f"in_proj_{kind}_q", "q"),
        ):
            if joined in given:
                split = parts(given[joined], len(single))
                named |= {f"{name}_{kind}": part for name, part in zip(single, split, strict=True)}
    for name, value in given.items():
        named.setdefault(names.get(name, name.replace("out_proj", "out")), value)
    return named


def agrees(module: Any, inputs: list[Tensor], mask: str | None) -> None:
    """Checks outputs and all gradients of a module."""
    torch.manual_seed(0)
    for parameter in module.parameters():
        nn.init.normal_(parameter, std=0.5)
    names = [name for name, _ in module.named_parameters()]
    passed = {mask: MASKS[mask][0].cuda()} if mask else {}
    added = MASKS[mask][1] if mask else None
    if module.__dict__.get("mask_additive") and mask:
        passed, added = {mask: -3 * HIDDEN.to("cuda", inputs[0].dtype)}, -3.0 * HIDDEN[:, None]
    number = len(inputs)

    def ours(*given: Tensor) -> Tensor:
        sequences = (given[0], given[number - 1], given[number - 1])
        parameters = dict(zip(names, given[number:], strict=True))
        output: Tensor = torch.func.functional_call(module, parameters, sequences, passed)[0]
        return output

    def reference(*given: Tensor) -> Tensor:
        named = unpacked(dict(zip(names, given[number:], strict=True)))
        return attention(named, given[0], given[number - 1], added)

    check(ours, reference, [*inputs, *(parameter.detach() for parameter in module.parameters())])


@pytest.mark.parametrize("impl", ["fast", "default"])
def test_attention_of_a_sequence_to_itself(impl: str) -> None:
    from apex.contrib.multihead_attn import SelfMultiheadAttn

    masks = itertools.cycle((None, *MASKS))
    for separate, bias, norm in itertools.product((False, True), repeat=3):
        if not (norm and bias and impl == "fast"):  # which leaves the biases out
            options = {"include_norm_add": norm, "separate_qkv_params": separate, "impl": impl}
            module = SelfMultiheadAttn(SIZE, HEADS, bias=bias, **options).cuda()
            agrees(module, [sequences(0)], next(masks))
    for dtype in (torch.float32, torch.float16, torch.bfloat16):
        options = {"bias": True, "impl": impl}
        additive = SelfMultiheadAttn(SIZE, HEADS, mask_additive=True, **options).to("cuda", dtype)
        agrees(additive, [sequences(0, dtype=dtype)], "key_padding_mask")


@pytest.mark.parametrize("impl", ["fast", "default"])
def test_attention_of_one_sequence_to_another(impl: str) -> None:
    from apex.contrib.multihead_attn import EncdecMultiheadAttn

    masks = itertools.cycle((None, *MASKS))
    for bias, norm in itertools.product((False, True), repeat=2):
        if not (bias and impl == "fast"):
            module = EncdecMultiheadAttn(SIZE, HEADS, bias=bias, include_norm_add=norm, impl=impl).cuda()
            mask = next(masks)
            length = LENGTH if mask == "attn_mask" else LENGTH - 2
            agrees(module, [sequences(0, length), sequences(1)], mask)
    for dtype in (torch.float16, torch.bfloat16):
        module = EncdecMultiheadAttn(SIZE, HEADS, include_norm_add=True, impl=impl).to("cuda", dtype)
        agrees(module, [sequences(0, LENGTH - 2, dtype), sequences(1, dtype=dtype)], "key_padding_mask")


def test_dropout_and_softmax() -> None:
    from apex.contrib.multihead_attn import SelfMultiheadAttn, fast_mask_softmax_dropout_func

    module = SelfMultiheadAttn(SIZE, HEADS, dropout=0.5, include_norm_add=True).cuda()
    input = sequences(0)
    evaluated = module(input, input, input, is_training=False)[0]
    assert_close(module(input, input, input, is_training=False)[0], evaluated)
    trained = module(input, input, input, is_training=True)[0]
    kept = trained == input  # what was dropped leaves the input
    assert 0.3 < kept.float().mean() < 0.7
    products = values(1, BATCH * HEADS, LENGTH, LENGTH)
    for mask, additive in ((HIDDEN, False), (-2 * HIDDEN.float(), True)):
        weights = fast_mask_softmax_dropout_func(False, HEADS, products, mask.cuda(), additive, 0.5)
        added = mask.float() if additive else torch.zeros(BATCH, LENGTH).masked_fill(mask, -torch.inf)
        expected = products.cpu() + added.repeat_interleave(HEADS, 0)[:, None]
        assert_close(weights.cpu(), expected.softmax(-1))
        half = fast_mask_softmax_dropout_func(True, HEADS, products, mask.cuda(), additive, 0.5)
        dropped = half.cpu() == 0
        assert_close(half.cpu(), 2 * weights.cpu().masked_fill(dropped, 0))


@pytest.mark.parametrize("impl", ["fast", "default"])
def test_gradients_are_of_what_was_not_dropped(impl: str) -> None:
    from apex.contrib.multihead_attn import EncdecMultiheadAttn

    module = EncdecMultiheadAttn(SIZE, HEADS, dropout=0.4, include_norm_add=True, impl=impl).cuda()
    query, source, weights, direction = (sequences(seed) for seed in range(4))

    def loss(given: Tensor) -> Tensor:
        torch.manual_seed(3)  # drops the same each time
        return (module(query, given, given)[0] * weights).sum()

    leaf = source.clone().requires_grad_()
    (grad,) = torch.autograd.grad(loss(leaf), leaf)
    slope = (loss(source + 0.01 * direction) - loss(source - 0.01 * direction)) / 0.02
    assert_close((grad * direction).sum(), slope, rtol=1e-2, atol=1e-2)


def test_refusals() -> None:
    from apex.contrib.multihead_attn import EncdecMultiheadAttn, SelfMultiheadAttn

    refused: list[tuple[Any, dict[str, Any], str]] = [
        (SelfMultiheadAttn, {"num_heads": 3}, "embed_dim must be divisible by num_heads"),
        (SelfMultiheadAttn, {"impl": "slow"}, "Unsupported impl: slow"),
        (SelfMultiheadAttn, {"mask_additive": True}, "not supported for fast mode without bias"),
        (SelfMultiheadAttn, {"mask_additive": True, "include_norm_add": True}, "with layer norm"),
        (EncdecMultiheadAttn, {"bias": True}, "does not support biases"),
    ]
    for module_class, options, message in refused:
        with pytest.raises(AssertionError, match=message):
            module_class(SIZE, **{"num_heads": HEADS, **options})
    module = SelfMultiheadAttn(SIZE, HEADS).cuda()
    input = sequences(0)
    masks = {name: passed.cuda() for name, (passed, _) in MASKS.items()}
    with pytest.raises(AssertionError, match="should not be both defined"):
        module(input, input, input, **masks)
    with pytest.raises(AssertionError, match="Sequence length should match"):
        module(input, input, input, attn_mask=masks["attn_mask"][1:])
    assert [name for name, _ in SelfMultiheadAttn(SIZE, HEADS, bias=True).named_parameters()] == [
        "in_proj_weight",
        "out_proj_weight",
        "in_proj_bias",
        "out_proj_bias",
    ]
