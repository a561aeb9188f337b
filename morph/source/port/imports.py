"""The import statements of ported modules; unused ones are removed."""

from __future__ import annotations

import ast
from collections.abc import Sequence

import libcst as cst

from morph.source.port.prelude import names_in
from morph.source.port.replacements import facts
from morph.source.port.source import Source
from morph.source.scan.names import kind_of
from morph.source.scan.uses import Kind


def cleaned(module: cst.Module, source: Source, *, exports: bool) -> cst.Module:
    """Return ``module`` without the imports of CUDA's names that it no longer uses.

    Args:
        module: The rewritten module.
        source: The original module.
        exports: Whether other modules may import its imports, as from a package's ``__init__``.
    """
    if exports:
        return module
    needed = names_in(module) | _exported(source)
    return module.visit(_Imports(needed, has_torch=_imports_torch(source)))


def _imports_torch(source: Source) -> bool:
    """Return whether the module has ``import torch`` beside any ``import torch.cuda``."""
    plain = [each for each in source.resolution.tree.body if isinstance(each, ast.Import)]
    return any(alias.name == "torch" and alias.asname is None for each in plain for alias in each.names)


def _exported(source: Source) -> set[str]:
    """Return the names in ``__all__``."""
    found: set[str] = set()
    for statement in source.resolution.tree.body:
        match statement:
            case ast.Assign(
                targets=[ast.Name(id="__all__")], value=ast.List(elts=names) | ast.Tuple(elts=names)
            ):
                found.update(str(each.value) for each in names if isinstance(each, ast.Constant))
    return found


class _Imports(cst.CSTTransformer):
    def __init__(self, needed: set[str], *, has_torch: bool) -> None:
        super().__init__()
        self._needed = needed
        self._has_torch = has_torch

    def leave_Import(
        self, original_node: cst.Import, updated_node: cst.Import
    ) -> cst.Import | cst.RemovalSentinel:
        kept = [*filter(None, map(self._module, updated_node.names))]
        return updated_node.with_changes(names=_without_comma(kept)) if kept else cst.RemoveFromParent()

    def leave_ImportFrom(
        self, original_node: cst.ImportFrom, updated_node: cst.ImportFrom
    ) -> cst.ImportFrom | cst.RemovalSentinel:
        if isinstance(updated_node.names, cst.ImportStar) or updated_node.relative:
            return updated_node
        module = _dotted(updated_node.module)
        kept = [each for each in updated_node.names if not self._is_needless(each, f"{module}.")]
        if len(kept) == len(updated_node.names):
            return updated_node
        return updated_node.with_changes(names=_without_comma(kept)) if kept else cst.RemoveFromParent()

    def leave_SimpleStatementLine(
        self, original_node: cst.SimpleStatementLine, updated_node: cst.SimpleStatementLine
    ) -> cst.SimpleStatementLine | cst.RemovalSentinel:
        return updated_node if updated_node.body else cst.RemoveFromParent()

    def _module(self, alias: cst.ImportAlias) -> cst.ImportAlias | None:
        """Return the replacement of ``import torch.cuda`` and the like."""
        if alias.asname is None and is_cuda(alias.evaluated_name):
            is_needed = "torch" in self._needed and not self._has_torch
            self._has_torch = True
            return alias.with_changes(name=cst.Name("torch")) if is_needed else None
        return None if self._is_needless(alias, "") else alias

    def _is_needless(self, alias: cst.ImportAlias, prefix: str) -> bool:
        bound = alias.evaluated_alias or alias.evaluated_name
        return is_cuda(prefix + alias.evaluated_name) and bound not in self._needed


def is_cuda(name: str) -> bool:
    """Return whether a dotted name is one of torch's for CUDA that does not work without CUDA."""
    return kind_of(name) is Kind.NAME and not facts().keeps(name)


def _dotted(node: cst.CSTNode | None) -> str:
    match node:
        case cst.Attribute(value=value, attr=cst.Name(name)):
            return f"{_dotted(value)}.{name}"
        case cst.Name(name):
            return name
    return ""


def _without_comma(names: Sequence[cst.ImportAlias]) -> list[cst.ImportAlias]:
    return [*names[:-1], names[-1].with_changes(comma=cst.MaybeSentinel.DEFAULT)]
