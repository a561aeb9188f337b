"""Uses of names: those of torch about CUDA, of served packages, and of methods such as ``.cuda()``."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

from morph.backends.tables import package, surfaces, table
from morph.backends.tables.decisions import CUDA_SURFACE
from morph.finders.packages import folders
from morph.source.resolution import Resolution, text_of
from morph.source.scan.uses import Found, Kind

ROOTS = (
    "torch.cuda",
    "torch.backends.cuda",
    "torch.backends.cudnn",
    "torch.backends.cusparselt",
    "torch.version.cuda",
    "torch.get_autocast_gpu_dtype",
    "torch.set_autocast_gpu_dtype",
    "torch.Tensor.cuda",
    "torch.Tensor.is_cuda",
    "torch.nn.Module.cuda",
    "torch.profiler.ProfilerActivity.CUDA",
    "torch.distributed.Backend.NCCL",
    "torch.distributed.ProcessGroupNCCL",
    "torch.distributed.is_nccl_available",
)
"""Names that morph serves, with the names below them."""

_IN_TEXT = re.compile(r"torch\.(cuda|backends\.cud(a|nn))(\.[A-Za-z_]\w*)*")


def names(resolution: Resolution) -> Iterator[Found]:
    """Yield each use of a name in a module."""
    for chain in resolution.chains:
        yield from _of_chain(resolution, chain)
    for call in resolution.nodes(ast.Call):
        yield from _of_call(resolution, call)
    for statement in resolution.imports:
        yield from _of_import(statement)
    for constant in resolution.nodes(ast.Constant):
        if isinstance(constant.value, str) and _IN_TEXT.fullmatch(constant.value):
            yield Found(constant, constant.value, Kind.NAME)


def imported_names(statement: ast.Import | ast.ImportFrom) -> Iterator[tuple[ast.alias, str]]:
    """Yield each part of an import statement with the dotted name that it imports; a module for its ``*``."""
    for alias in statement.names:
        if isinstance(statement, ast.Import):
            yield alias, alias.name
        else:
            module = "." * statement.level + (statement.module or "")
            yield alias, module if alias.name == "*" else f"{module}.{alias.name}"


def _of_import(statement: ast.Import | ast.ImportFrom) -> Iterator[Found]:
    for alias, name in imported_names(statement):
        kind = kind_of(name)
        if kind:
            yield Found(alias, name, kind)


def kind_of(name: str) -> Kind | None:
    """Return the kind of a dotted name that morph serves, or None."""
    if any(name == root or name.startswith(f"{root}.") for root in ROOTS):
        return Kind.NAME
    return Kind.PACKAGE if package_of(name) else None


@functools.cache
def package_of(name: str) -> package.Package | None:
    """Return the served package that a dotted name belongs to, or None."""
    root = name.partition(".")[0]
    return next((each for each in _packages() if root in each.import_names), None)


def package_names() -> frozenset[str]:
    """Return the top-level names that come with the served packages."""
    return frozenset(name for each in _packages() for name in each.import_names)


@functools.cache
def _packages() -> tuple[package.Package, ...]:
    return tuple(package.load(name) for name in sorted(folders.names()) if folders.has_tree(name))


def _of_chain(resolution: Resolution, node: ast.expr) -> Iterator[Found]:
    """Yield the names that a dotted expression may stand for; a result's member where a table has a row."""
    spelled = resolution.spelled(node)
    for name in resolution.names(node):
        kind = kind_of(name)
        by_star = bool(resolution.stars) and not is_known(name)
        if kind and not by_star and (name in spelled or _has_row(name)):
            yield Found(node, name, kind)


@functools.cache
def _has_row(name: str) -> bool:
    return any(name in table.load(backend).rows for backend in table.backend_names())


def _of_call(resolution: Resolution, call: ast.Call) -> Iterator[Found]:
    """Yield the names that are text arguments of ``import_module()``, ``getattr()`` and ``hasattr()``."""
    texts = [*filter(None, map(text_of, call.args))]
    probed = [*_probed(resolution, call)] if texts else []
    for name in probed or (resolution.names(call) if texts else ()):
        kind = kind_of(name)
        if kind and not any(_IN_TEXT.fullmatch(text) for text in texts):
            yield Found(call, name, Kind.PROBE if probed and kind is Kind.NAME else kind)


def _probed(resolution: Resolution, call: ast.Call) -> Iterator[str]:
    """Yield the names that a call looks up without requiring them."""
    functions = resolution.names(call.func)
    match call.args:
        case [holder, ast.Constant(value=str(attribute))] if "hasattr" in functions:
            yield from (f"{name}.{attribute}" for name in resolution.names(holder))
        case [_, ast.Constant(), _] if "getattr" in functions:
            yield from resolution.names(call)


@functools.cache
def is_known(name: str) -> bool:
    """Return whether the recorded surface of torch 2.13 has the name; private names count as known."""
    private = any(part.startswith("_") for part in name.split("."))
    return private or not name.startswith("torch.cuda.") or _has_row(name) or _is_recorded(name)


def _is_recorded(name: str) -> bool:
    surface = surfaces.load_nearest(CUDA_SURFACE)
    owner = name.rpartition(".")[0]
    return surface.has(name) or owner in surface.values or owner in surface.functions


def methods(resolution: Resolution) -> Iterator[Found]:
    """Yield each call of ``.cuda()`` and each ``.is_cuda`` in a module, on any object."""
    for call in resolution.nodes(ast.Call):
        match call.func:
            case ast.Attribute(attr="cuda") as method if _may_be_tensor(resolution, method):
                yield Found(call, ".cuda()", Kind.METHOD)
    for node in resolution.nodes(ast.Attribute):
        if node.attr == "is_cuda" and isinstance(node.ctx, ast.Load) and _may_be_tensor(resolution, node):
            yield Found(node, ".is_cuda", Kind.METHOD)


def _may_be_tensor(resolution: Resolution, node: ast.Attribute) -> bool:
    """Return whether it may be a tensor's method; ``numba.cuda`` is a module's."""
    return not resolution.spelled(node.value)
