"""``torch.compile`` on the software device: inductor compiles for the CPU, or generates kernels in Triton."""

from __future__ import annotations

import functools
import hashlib
import pathlib
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any

import torch

from morph.base.announcement import report
from morph.base.errors import MorphError
from morph.base.journal import Journal
from morph.finders.finder import on_import
from morph.software import settings
from morph.software.compilation import judgement, kernels
from morph.software.machine import started

if TYPE_CHECKING:
    from morph.software.compilation.retargeting import Plan

PLAN = "_morph_plan"


class AheadOfTimeError(MorphError, NotImplementedError):
    """AOTInductor was asked for, whose libraries run without morph."""


def place(journal: Journal) -> None:
    """Make inductor compile for the software device, as soon as it is imported.

    Args:
        journal: Records every rebinding.
    """
    language = settings.inductor()
    judgement.place(journal)
    on_import("torch._subclasses.fake_impls", lambda module: _foretell_formats(journal), journal)
    on_import("torch._inductor.codecache", lambda module: _tell_apart(module, language, journal), journal)
    on_import("torch._inductor.async_compile", lambda module: _without_workers(module, journal), journal)
    on_import("torch._inductor.output_code", lambda module: _serve(module, journal), journal)
    if language == settings.TRITON:
        kernels.place(journal)
    else:
        on_import("torch._inductor.compile_fx", lambda module: _compile_for_host(module, journal), journal)
    on_import("torch._inductor.compile_fx", lambda module: _refuse_libraries(module, journal), journal)
    on_import("torch._inductor.fx_passes.pad_mm", lambda module: _unpadded(module, journal), journal)


def _foretell_formats(journal: Journal) -> None:
    """Give a fake convolution the strides of the CPU's; torch 2.13 says contiguous without cuDNN."""
    determine = torch._C._conv_determine_backend_memory_format

    def determine_format(source: torch.Tensor, weight: torch.Tensor, backend: Any) -> torch.memory_format:
        from morph.software.compilation import fakes

        if fakes.is_on_device(source):
            return fakes.format_of_convolution(source, weight)
        return determine(source, weight, backend)

    journal.set_attribute(torch._C, "_conv_determine_backend_memory_format", determine_format)


def _compile_for_host(compile_fx: Any, journal: Journal) -> None:
    # each graph passes through both, the backward one too: compile_fx_inner looks them up when it is called
    inner, generate = compile_fx._compile_fx_inner, compile_fx.fx_codegen_and_compile

    @functools.wraps(inner)
    def compile_graph(module: Any, inputs: Sequence[Any], *arguments: Any, **options: Any) -> Any:
        from morph.software.compilation import retargeting

        if retargeting.concerns_device(module, inputs):
            obstacle = retargeting.obstacle(module)
            if obstacle:
                return _uncompiled(module, obstacle)
            with _whole():
                return inner(module, inputs, *arguments, **options)
        return inner(module, inputs, *arguments, **options)

    @functools.wraps(generate)
    def generate_code(
        module: Any, inputs: Sequence[Any], checked: Sequence[int], *arguments: Any, **options: Any
    ) -> Any:
        from morph.software.compilation import retargeting

        if not retargeting.concerns_device(module, inputs):
            return generate(module, inputs, checked, *arguments, **options)
        host, host_inputs, plan = retargeting.retarget(module, inputs)
        with judgement.judging(module):
            compiled = generate(host, host_inputs, (), *arguments, **options)
        setattr(compiled, PLAN, plan)
        return compiled

    journal.set_attribute(compile_fx, "_compile_fx_inner", compile_graph)
    journal.set_attribute(compile_fx, "fx_codegen_and_compile", generate_code)


def _refuse_libraries(compile_fx: Any, journal: Journal) -> None:
    inner = compile_fx._compile_fx_inner

    @functools.wraps(inner)
    def compile_graph(module: Any, inputs: Sequence[Any], *arguments: Any, **options: Any) -> Any:
        from morph.software.compilation import retargeting

        if retargeting.concerns_device(module, inputs):
            _refuse_ahead_of_time()
        return inner(module, inputs, *arguments, **options)

    journal.set_attribute(compile_fx, "_compile_fx_inner", compile_graph)


def _refuse_ahead_of_time() -> None:
    from torch._inductor.virtualized import V

    if V.aot_compilation:
        raise AheadOfTimeError(
            "AOTInductor is not available for the software device: its output for a GPU runs without "
            "Python and without morph; export the program and compile it for the CPU"
        )


def _uncompiled(module: Any, obstacle: str) -> Callable[..., Any]:
    """Run a graph as it is; inductor's ``_compile_fx_inner`` does so with graphs that call nothing."""
    from torch._functorch import aot_autograd
    from torch.fx._lazy_graph_module import _LazyGraphModule

    _say_uncompiled(obstacle)
    _LazyGraphModule.force_recompile(module)
    boxed: Callable[..., Any] = vars(aot_autograd)["make_boxed_func"](module.forward)
    return boxed


@functools.cache
def _say_uncompiled(obstacle: str) -> None:
    report(f"a graph with {obstacle} runs without inductor, as with aot_eager")


def _serve(output_code: Any, journal: Journal) -> None:
    compiled_graph, constants = output_code.CompiledFxGraph, output_code.CompiledFxGraphConstantsWithGm
    complete, unwrap = compiled_graph.post_compile, constants.unwrap

    @functools.wraps(complete)
    def post_compile(self: Any, inputs: Any, first: Any, second: Any) -> Any:
        plan = vars(self).get(PLAN)
        if plan is None:
            return complete(self, inputs, first, second)
        self.current_callable = _around(self.current_callable, plan, tuple(self.mutated_input_idxs))
        with _whole():
            return complete(self, inputs, first, second)

    @functools.wraps(unwrap)
    def unwrap_for_host(self: Any, graph: Any) -> dict[str, Any]:
        values: dict[str, Any] = unwrap(self, graph)
        if vars(graph).get(PLAN) is None:
            return values
        return {name: started().native.host_tensor(value) for name, value in values.items()}

    journal.set_attribute(compiled_graph, "post_compile", post_compile)
    _give_constants(output_code, journal)
    journal.set_attribute(constants, "unwrap", unwrap_for_host)


def _whole() -> AbstractContextManager[None]:
    """Make inductor capture a graph whole or not at all: it would take a part for the CPU's, as all seem."""
    from torch._inductor import config

    whole: AbstractContextManager[None] = config.patch({"graph_partition": False})
    return whole


def _give_constants(output_code: Any, journal: Journal) -> None:
    """Tell torch's trees of graphs of a graph's constants, which are the host's, as tensors of the device."""
    finish = output_code.cudagraph_post_compile

    @functools.wraps(finish)
    def cudagraph_post_compile(inputs: Any, compiled: Any, graphs: Any, constants: Any, *rest: Any) -> None:
        plan = vars(compiled).get(PLAN)
        if plan is not None:
            constants = {
                name: started().native.device_tensor(value, plan.index) for name, value in constants.items()
            }
        finish(inputs, compiled, graphs, constants, *rest)

    journal.set_attribute(output_code, "cudagraph_post_compile", cudagraph_post_compile)


def _around(code: Callable[..., Any], plan: Plan, written: Sequence[int]) -> Callable[[Any], Any]:
    from morph.software import capture
    from morph.software.compilation import captured_code, excursions, watching

    for excursion in plan.excursions:
        excursions.define(excursion)
    compiled = started().native.CompiledCode(code, plan.index, plan.devices, plan.returned)

    is_watched = watching.is_wanted()
    draws_on = plan.index if any(map(excursions.is_random, plan.excursions)) else None

    def run(inputs: Any) -> Any:
        boxed = inputs if type(inputs) is list else list(inputs)
        into = capture.current()
        if into is None:
            return watching.run(compiled, boxed, written) if is_watched else compiled(boxed)
        return captured_code.capture(compiled, boxed, written, draws_on, into)

    # else AOTAutograd wraps it in make_boxed_func, which passes the inputs one by one and keeps them alive
    run._boxed_call = True  # type: ignore[attr-defined]
    return run


def _tell_apart(codecache: Any, language: str, journal: Journal) -> None:
    """Make inductor's caches distinguish a graph for the software device from one for a GPU."""
    details = codecache.FxGraphHashDetails
    initialise = details.__init__

    @functools.wraps(initialise)
    def __init__(self: Any, *arguments: Any, **options: Any) -> None:
        initialise(self, *arguments, **options)
        self.morph_version = _version(), language

    journal.set_attribute(details, "__init__", __init__)
    # it looks for tensors on the CPU, and only with one of them is the number of threads part of the key
    journal.set_attribute(details, "_may_generate_cpu_cpp_code", classmethod(lambda *arguments: True))


@functools.cache
def _version() -> str:
    """Return a name for this way of compiling, whose results inductor keeps across processes."""
    sources = sorted(pathlib.Path(__file__).parent.glob("*.py"))
    return hashlib.sha256(b"".join(source.read_bytes() for source in sources)).hexdigest()


def _without_workers(async_compile: Any, journal: Journal) -> None:
    """Keep inductor from starting workers, in which it compiles kernels in Triton alone, and has no device.

    ``SubprocPool`` starts them with the ``sys.path`` of ``python_subprocess_env`` as PYTHONPATH (torch 2.13),
    and morph is not there.
    """
    journal.set_attribute(async_compile.AsyncCompile, "use_process_pool", classmethod(lambda owner: False))
    journal.set_attribute(async_compile.AsyncCompile, "warm_pool", classmethod(lambda owner: None))


def _unpadded(pad_mm: Any, journal: Journal) -> None:
    """Keep inductor from timing padded products on the device, as it does where triton has one."""
    journal.set_attribute(pad_mm, "has_triton", lambda: False)
