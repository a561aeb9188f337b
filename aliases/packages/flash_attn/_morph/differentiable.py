"""Attention with gradients, by the operators of a release of flash_attn."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.library import custom_op

from morph.aliases.attention import Request, as_one_kernel

from .direct import watched
from .fields import arguments_of, fields_of
from .original import written

Fields = Mapping[str, Any]
Results = tuple[Tensor, ...]
Compute = Callable[[Fields, Mapping[str, Any]], Any]

Fake = Callable[..., Any]
Halves = tuple[Compute, Fake]

_INPUTS = "query", "key", "value"


@dataclass(frozen=True)
class Operator:
    """A custom operator, which an observer of a call sees.

    Attributes:
        custom: The operator.
        fake: Its fake implementation.
        compute: What computes it from fields and others.
        parameters: Its parameters.
    """

    custom: Any
    fake: Fake
    compute: Compute
    parameters: tuple[str, ...]

    def __call__(self, fields: Fields, **others: Any) -> Any:
        """Call it with the fields and other arguments that it has parameters for."""
        if not watched(fields["query"], fields["key"], fields["value"]):
            return self.compute(fields, others)
        known = {name: value for name, value in others.items() if name in self.parameters}
        return self.custom._opoverload(**arguments_of(self.parameters, fields), **known)


@dataclass(frozen=True)
class Pair:
    """The operators for the output and for the gradients.

    Attributes:
        forward: Returns the output, the logarithms of the sums, and others.
        backward: Writes into ``dq``, ``dk`` and ``dv``, and returns a sink's gradient, or row sums.
        sums_have_gradients: Whether those of the logarithms count.
    """

    forward: Operator
    backward: Operator
    sums_have_gradients: bool = False

    def differentiate(self, fields: Fields, dout: Tensor, dlse: Tensor | None, *results: Tensor) -> Fields:
        """Return the gradients of the fields that have one, from those of the results."""
        dlse = dlse if self.sums_have_gradients else None
        if watched(dout, *(fields[name] for name in _INPUTS)):
            return self._observed(fields, dout, dlse, *results)
        out, lse, state = results
        request = Request(**fields, seed=seed_of(state) if fields.get("dropout") else 0)
        pairs = zip(_INPUTS, request.backward(dout, out, lse, dlse), strict=True)
        grads = {name: grad.to(out.dtype) for name, grad in pairs}
        if request.sink is not None:
            grads["sink"] = request.sink_gradient(dout, out, lse, dlse)
        return grads

    def _observed(self, fields: Fields, dout: Tensor, dlse: Tensor | None, *results: Tensor) -> Fields:
        grads = {name: torch.empty_like(fields[name]) for name in _INPUTS}
        given = dict(zip(("out", "softmax_lse", "rng_state"), results, strict=True))
        targets = dict(zip(("dq", "dk", "dv"), grads.values(), strict=True))
        other = self.backward(fields, dout=dout, dlse=dlse, deterministic=False, **given, **targets)
        return {**grads, "sink": other} if fields.get("sink") is not None else grads


PAIRS: dict[str, Pair] = {}
"""The operators of each release."""


def attend(release: str, fields: Fields, return_softmax: bool = False) -> Results:
    """Compute attention, differentiably.

    Args:
        release: One of ``PAIRS``.
        fields: The arguments, by the names of a request's fields.
        return_softmax: Whether flash_attn 2 is asked for the weights.

    Returns:
        The results of the operator.
    """
    inputs = (fields.get(name) for name in (*_INPUTS, "sink"))
    if not torch.is_grad_enabled() or not any(x is not None and x.requires_grad for x in inputs):
        return PAIRS[release].forward(fields, return_softmax=return_softmax)  # type: ignore[no-any-return]
    values = tuple(fields.values())
    if torch.compiler.is_compiling():
        values = _apart(values)
    return _Attention.apply(release, return_softmax, tuple(fields), *values)  # type: ignore[no-any-return, no-untyped-call]


def save(ctx: Any, fields: Fields, results: Results) -> None:
    """Save what the gradients need: the fields, and the output, the sums' logarithms, and the last result."""
    ctx.kept = [name for name, value in fields.items() if isinstance(value, Tensor)]
    ctx.options = {name: value for name, value in fields.items() if name not in ctx.kept}
    ctx.save_for_backward(*results[:2], results[-1], *(fields[name] for name in ctx.kept))
    ctx.set_materialize_grads(False)


def gradients(ctx: Any, release: str, dout: Tensor | None, dlse: Tensor | None) -> Fields:
    """Return the gradients of the saved fields that have one, from those of the output and the logarithms.

    Raises:
        AssertionError: If flash_attn 3 has no gradients with an option.
        NotImplementedError: If the keys are in pages.
    """
    out, lse, last, *tensors = ctx.saved_tensors
    fields = {**dict(zip(ctx.kept, tensors, strict=True)), **ctx.options}
    assert not fields.get("chunk"), "FA3 backward does not support attention_chunk"
    assert fields.get("query_value") is None, "FA3 backward does not support qv"
    if fields.get("table") is not None:
        raise NotImplementedError("morph does not serve gradients with a table of pages")
    dout = torch.zeros_like(out) if dout is None else contiguous(dout)
    return PAIRS[release].differentiate(fields, dout, dlse, out, lse, last)


class _Attention(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, release: str, return_softmax: bool, names: tuple[str, ...], *values: Any
    ) -> Results:
        fields = dict(zip(names, values, strict=True))
        results: Results = PAIRS[release].forward(fields, return_softmax=return_softmax)
        ctx.release, ctx.names = release, names
        save(ctx, fields, results)
        return results

    @staticmethod
    def backward(ctx: Any, dout: Tensor | None, dlse: Tensor | None, *others: Any) -> tuple[Any, ...]:
        grads = gradients(ctx, ctx.release, dout, dlse)
        return None, None, None, *(grads.get(name) for name in ctx.names)


def operator(
    name: str,
    signature: str,
    compute: Compute,
    fake: Callable[..., Any],
    result: Any,
    mutated: Sequence[str] = (),
) -> Operator:
    """Make a custom operator, which a graph holds as one kernel.

    Args:
        name: Its name, with the namespace.
        signature: Its signature.
        compute: What it computes, from the fields of a request and all arguments.
        fake: Its fake implementation.
        result: The type of its result.
        mutated: The parameters into which it writes.
    """

    def body(**arguments: Any) -> Any:
        return compute(fields_of(arguments), arguments)

    body.__name__ = body.__qualname__ = name.rpartition("::")[2]
    body.__annotations__ = {"return": result}
    original = written(signature)
    custom: Any = custom_op(name, original(body), mutates_args=mutated)
    imitation = original(fake)
    custom.register_fake(imitation)
    as_one_kernel(custom)
    return Operator(custom, imitation, compute, tuple(inspect.signature(imitation).parameters))


def pair(start: str, signatures: Sequence[str], result: Any, forward: Halves, backward: Halves) -> Pair:
    """Make the two operators of a release, each from what computes it and its fake implementation."""
    first, second = signatures
    return Pair(
        operator(f"{start}_forward", first, *forward, result),
        operator(f"{start}_backward", second, *backward, Tensor, ("dq", "dk", "dv")),
    )


def seed_of(state: Tensor) -> int:
    """Return the seed in the last result of flash_attn 2's operators."""
    return int(state[0])


def contiguous(x: Tensor) -> Tensor:
    """Return ``x``, copied if its last dimension is not contiguous."""
    return x.contiguous() if x.stride(-1) != 1 else x


def _apart(values: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return ``values`` with views of repeated tensors, which Dynamo cannot trace."""
    apart: list[Any] = []
    for each in values:
        again = isinstance(each, Tensor) and any(each is other for other in values[: len(apart)])
        apart.append(each.view_as(each) if again else each)
    return tuple(apart)
