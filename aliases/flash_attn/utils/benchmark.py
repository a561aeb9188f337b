"""Timing of a function, forward and backward."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils import benchmark

Timing = tuple[benchmark.Timer, benchmark.Measurement]


def benchmark_forward(
    fn: Callable[..., Any],
    *inputs: Any,
    repeats: int = 10,
    desc: str = "",
    verbose: bool = True,
    amp: bool = False,
    amp_dtype: torch.dtype = torch.float16,
    **kwinputs: Any,
) -> Timing:
    """Time the forward pass of ``fn``.

    Args:
        fn: What is timed.
        *inputs: Its arguments.
        repeats: How often it runs.
        desc: What to print before the result.
        verbose: Whether to print the result.
        amp: Whether it runs under autocast.
        amp_dtype: In which dtype.
        **kwinputs: Its keyword arguments.

    Returns:
        The timer and what it has measured.
    """

    def run() -> None:
        with torch.autocast("cuda", dtype=amp_dtype, enabled=amp):
            fn(*inputs, **kwinputs)

    return _timed(run, repeats, f"{desc} - Forward pass", verbose)


def benchmark_backward(
    fn: Callable[..., Any],
    *inputs: Any,
    grad: Tensor | None = None,
    repeats: int = 10,
    desc: str = "",
    verbose: bool = True,
    amp: bool = False,
    amp_dtype: torch.dtype = torch.float16,
    **kwinputs: Any,
) -> Timing:
    """Time the backward pass of ``fn``, from the gradient ``grad``; see :func:`benchmark_forward`."""
    y = _result(fn, inputs, kwinputs, amp, amp_dtype)
    grad = _gradient(y, grad)

    def run() -> None:
        _forget_gradients(inputs)
        y.backward(grad, retain_graph=True)  # type: ignore[no-untyped-call]

    return _timed(run, repeats, f"{desc} - Backward pass", verbose)


def benchmark_combined(
    fn: Callable[..., Any],
    *inputs: Any,
    grad: Tensor | None = None,
    repeats: int = 10,
    desc: str = "",
    verbose: bool = True,
    amp: bool = False,
    amp_dtype: torch.dtype = torch.float16,
    **kwinputs: Any,
) -> Timing:
    """Time forward and backward pass of ``fn`` together; see :func:`benchmark_forward`."""
    grad = _gradient(_result(fn, inputs, kwinputs, amp, amp_dtype), grad)

    def run() -> None:
        _forget_gradients(inputs)
        y = _result(fn, inputs, kwinputs, amp, amp_dtype)
        y.backward(grad, retain_graph=True)  # type: ignore[no-untyped-call]

    return _timed(run, repeats, f"{desc} - Forward + Backward pass", verbose)


def benchmark_fwd_bwd(
    fn: Callable[..., Any],
    *inputs: Any,
    grad: Tensor | None = None,
    repeats: int = 10,
    desc: str = "",
    verbose: bool = True,
    amp: bool = False,
    amp_dtype: torch.dtype = torch.float16,
    **kwinputs: Any,
) -> tuple[Timing, Timing]:
    """Time forward and backward pass of ``fn`` apart; see :func:`benchmark_forward`."""
    options: dict[str, Any] = {
        "repeats": repeats,
        "desc": desc,
        "verbose": verbose,
        "amp": amp,
        "amp_dtype": amp_dtype,
        **kwinputs,
    }
    forward = benchmark_forward(fn, *inputs, **options)
    return forward, benchmark_backward(fn, *inputs, grad=grad, **options)


def benchmark_all(
    fn: Callable[..., Any],
    *inputs: Any,
    grad: Tensor | None = None,
    repeats: int = 10,
    desc: str = "",
    verbose: bool = True,
    amp: bool = False,
    amp_dtype: torch.dtype = torch.float16,
    **kwinputs: Any,
) -> tuple[Timing, Timing, Timing]:
    """Time forward, backward, and both passes of ``fn``; see :func:`benchmark_forward`."""
    options: dict[str, Any] = {
        "repeats": repeats,
        "desc": desc,
        "verbose": verbose,
        "amp": amp,
        "amp_dtype": amp_dtype,
        **kwinputs,
    }
    apart = benchmark_fwd_bwd(fn, *inputs, grad=grad, **options)
    return *apart, benchmark_combined(fn, *inputs, grad=grad, **options)


def _timed(run: Callable[[], None], repeats: int, title: str, verbose: bool) -> Timing:
    threads = torch.get_num_threads()
    timer = benchmark.Timer(stmt="run()", globals={"run": run}, num_threads=threads)
    measured = timer.timeit(repeats)
    if verbose:
        print(title, measured, sep="\n")
    return timer, measured


def _result(fn: Callable[..., Any], inputs: Any, kwinputs: Any, amp: bool, amp_dtype: torch.dtype) -> Tensor:
    with torch.autocast("cuda", dtype=amp_dtype, enabled=amp):
        y = fn(*inputs, **kwinputs)
    return y[0] if isinstance(y, tuple) else y  # type: ignore[no-any-return]


def _gradient(y: Tensor, grad: Tensor | None) -> Tensor:
    if grad is not None and grad.shape != y.shape:
        raise RuntimeError("Grad shape does not match output shape")
    return torch.randn_like(y) if grad is None else grad


def _forget_gradients(inputs: tuple[Any, ...]) -> None:
    for each in inputs:
        if isinstance(each, Tensor):
            each.grad = None
