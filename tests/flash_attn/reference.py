"""Reference attention from the documented formulas, with the full score matrix, in any dtype."""

import math
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor


def attention(
    q: Tensor,
    k: Tensor,
    v: Tensor,
    *,
    dtype: torch.dtype = torch.float64,
    softmax_scale: float | None = None,
    causal: bool = False,
    window_size: tuple[int, int] = (-1, -1),
    softcap: float = 0.0,
    alibi_slopes: Tensor | None = None,
    attention_chunk: int = 0,
    mask: Tensor | None = None,
    kept: Tensor | None = None,
    dropout_p: float = 0.0,
    weights: bool = False,
) -> tuple[Tensor, Tensor]:
    """Return the output and log-sum-exp, as flash_attn_func does, computed in `dtype` on the CPU.

    A `mask` is added to the scores. With `weights`, the softmax is returned in place of the log-sum-exp.
    """
    scale = q.shape[-1] ** -0.5 if softmax_scale is None else softmax_scale
    group = q.shape[2] // k.shape[2]
    q, k, v = (x.cpu().to(dtype).transpose(1, 2) for x in (q, k, v))
    k, v = (x.repeat_interleave(group, 1) for x in (k, v))
    scores = q @ (k * scale).mT
    if softcap:
        scores = torch.tanh(scores / softcap) * softcap
    position = torch.arange(q.shape[2])[:, None] + k.shape[2] - q.shape[2]
    key = torch.arange(k.shape[2])
    if alibi_slopes is not None:
        slopes = alibi_slopes.cpu().to(dtype).expand(q.shape[0], -1)
        scores = scores - slopes[:, :, None, None] * (position - key).abs()
    left, right = window_size
    hidden = torch.zeros_like(position - key, dtype=torch.bool)
    if left >= 0:
        hidden |= key < position - left
    if causal or right >= 0:
        hidden |= key > position + (0 if causal else right)
    if attention_chunk:
        hidden |= key // attention_chunk != position // attention_chunk
    if mask is not None:
        scores, hidden = scores + mask.to(dtype), hidden | (mask == -math.inf)
    scores = scores.masked_fill(hidden, -math.inf)
    softmax = scores.softmax(-1).nan_to_num(0.0)
    if kept is not None:
        softmax = softmax * kept.cpu() / (1 - dropout_p)
    return (softmax @ v).transpose(1, 2), softmax if weights else scores.logsumexp(-1)


def tensors(seed: int, *shapes: Sequence[int], dtype: torch.dtype) -> list[Tensor]:
    """Return normally distributed tensors on the device that require gradients, equal on every platform."""
    generator = torch.Generator("cpu").manual_seed(seed)
    return [torch.randn(*shape, generator=generator).to("cuda", dtype).requires_grad_() for shape in shapes]


def detached(seed: int, *shapes: Sequence[int], dtype: torch.dtype) -> list[Tensor]:
    """Return the same tensors without gradients."""
    return [each.detach() for each in tensors(seed, *shapes, dtype=dtype)]


def rotated(x: Tensor, cos: Tensor, sin: Tensor, interleaved: bool) -> Tensor:
    """Return `x` of shape (..., tokens, heads, size), rotated by tables of shape (..., tokens, half)."""
    half = cos.shape[-1]
    part, rest = x[..., : 2 * half], x[..., 2 * half :]
    pairs = part.unflatten(-1, (half, 2)) if interleaved else part.unflatten(-1, (2, half)).transpose(-1, -2)
    a, b = pairs.unbind(-1)
    c, s = (each.cpu().to(x.dtype)[..., None, :] for each in (cos, sin))
    both = torch.stack([a * c - b * s, a * s + b * c], -1)
    return torch.cat([(both if interleaved else both.transpose(-1, -2)).flatten(-2), rest], -1)


def integers(*values: Any) -> Tensor:
    """Return lengths, bounds or a table of pages, as the functions take them."""
    return torch.tensor(values, dtype=torch.int32, device="cuda")


def check(
    actual: Callable[..., Any], expected: Callable[..., Any], inputs: Sequence[Tensor], about: object = ""
) -> None:
    """Compares outputs and gradients with float64 under flash_attn's own tolerance.

    The error may be twice that of a plain implementation in the inputs' dtype, and three times in
    gradients, as flash_attn's own tests allow.

    Args:
        actual: Called with the inputs; returns the output.
        expected: Called with copies of the inputs and a `dtype` to compute in; returns the output.
        inputs: Tensors on the device that require gradients.
        about: Included in the failure message.
    """
    out = actual(*inputs)
    generator = torch.Generator("cpu").manual_seed(1)
    grad = torch.randn(out.shape, generator=generator).to(out.dtype)
    grads = torch.autograd.grad(out, inputs, grad.to(out.device))
    exact, plain = (_run(expected, inputs, grad, dtype) for dtype in (torch.float64, inputs[0].dtype))
    assert out.dtype == inputs[0].dtype
    for index, result in enumerate((out, *grads)):
        error = distance(result, exact[index])
        allowed = (3 if index else 2) * distance(plain[index], exact[index]) + 1e-5
        assert error <= allowed, f"{about}: result {index} is off by {error}, and may be by {allowed}"


def check_options(
    function: Callable[..., Any],
    inputs: Sequence[Tensor],
    about: object = "",
    *,
    reference: Callable[..., tuple[Tensor, Tensor]] = attention,
    **options: Any,
) -> None:
    """Compares the output of attention with some options, and its gradients, with those of a reference."""
    check(
        lambda *given: first(function(*given, **options)),
        lambda *given, dtype: reference(*given, dtype=dtype, **options)[0],
        inputs,
        (about, options),
    )


def check_output(out: Tensor, *inputs: Tensor, times: int = 2, **options: Any) -> None:
    """Compares an output of attention with float64: the error may be some times that of the inputs' dtype."""
    exact, plain = (attention(*inputs, dtype=dtype, **options)[0] for dtype in (torch.float64, out.dtype))
    assert distance(out, exact) <= times * distance(plain, exact) + 1e-5


def check_sums(lse: Tensor, expected: Tensor) -> None:
    """Compares the log-sum-exp of flash_attn 2, which is infinity where a query sees no key."""
    blind = expected == -math.inf
    assert lse.dtype == torch.float32
    assert torch.equal(lse.cpu() == math.inf, blind)
    assert distance(lse.cpu().masked_fill(blind, 0), expected.masked_fill(blind, 0)) < 5e-4


def first(result: Any) -> Tensor:
    """Return the output, of a function that may return more."""
    found: Tensor = result if isinstance(result, Tensor) else result[0]
    return found


def distance(first: Tensor, second: Tensor) -> float:
    """Return the largest difference of two tensors of the same shape."""
    assert first.shape == second.shape
    difference = first.detach().cpu().double() - second.detach().cpu().double()
    return float(difference.abs().max()) if difference.numel() else 0.0


def _run(
    expected: Callable[..., Any], inputs: Sequence[Tensor], grad: Tensor, dtype: torch.dtype
) -> list[Tensor]:
    copies = [each.detach().cpu().to(dtype).requires_grad_() for each in inputs]
    out = expected(*copies, dtype=dtype)
    grads = torch.autograd.grad(out, copies, grad.to(out.dtype), allow_unused=True)
    return [out, *(torch.zeros_like(x) if g is None else g for g, x in zip(grads, copies, strict=True))]
