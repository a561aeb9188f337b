"""The import statements of ported modules; unused ones are removed."""

from __future__ import annotations

import ast

from morph.source.draft import Draft
from morph.source.port.prelude import names_in
from morph.source.port.replacements import facts
from morph.source.port.source import Source, is_alone
from morph.source.port.statements import remove
from morph.source.scan.names import kind_of
from morph.source.scan.uses import Kind


def cleaned(text: str, source: Source) -> str:
    """Return a module's text without the imports of CUDA's names that it no longer uses.

    Args:
        text: The rewritten module.
        source: The original module.
    """
    tree, draft = ast.parse(text), Draft(text)
    names = names_in(tree) | _exported(source)
    plain = [alias for each in source.tree.body if isinstance(each, ast.Import) for alias in each.names]
    has_torch = any(alias.name == "torch" and alias.asname is None for alias in plain)
    for node in ast.walk(tree):
        for block in ("body", "orelse", "finalbody"):
            body = getattr(node, block, None)
            if isinstance(body, list):
                needless = []
                for statement in body:
                    if isinstance(statement, ast.Import | ast.ImportFrom):
                        kept = [_kept(statement, each, names, has_torch) for each in statement.names]
                        has_torch = has_torch or "torch" in kept
                        _keep(draft, statement, kept)
                        needless += [] if any(kept) or not is_alone(draft, statement) else [statement]
                remove(draft, needless, body)
    return str(draft)


def _exported(source: Source) -> set[str]:
    """Return the names in ``__all__``."""
    found: set[str] = set()
    for statement in source.tree.body:
        match statement:
            case ast.Assign(
                targets=[ast.Name(id="__all__")], value=ast.List(elts=names) | ast.Tuple(elts=names)
            ):
                found.update(str(each.value) for each in names if isinstance(each, ast.Constant))
    return found


def _kept(statement: ast.Import | ast.ImportFrom, alias: ast.alias, names: set[str], has_torch: bool) -> str:
    """Return what is imported in place of a part of an import statement; empty for nothing."""
    module = "" if isinstance(statement, ast.Import) else f"{'.' * statement.level}{statement.module or ''}."
    whole = alias.name if alias.asname is None else f"{alias.name} as {alias.asname}"
    if alias.name == "*" or not is_cuda(module + alias.name):
        return whole
    if not module and alias.asname is None:
        return "torch" if "torch" in names and not has_torch else ""
    return whole if (alias.asname or alias.name) in names else ""


def _keep(draft: Draft, statement: ast.Import | ast.ImportFrom, kept: list[str]) -> None:
    """Keep the parts of an import statement that are given as text, of which some are empty."""
    spans = [*map(draft.places.span, statement.names)]
    if not any(kept):
        draft.replace(statement, "pass")
        return
    last = max(index for index, each in enumerate(kept) if each)
    for index, (each, (start, end)) in enumerate(zip(kept, spans, strict=True)):
        if each:
            if each == "torch" != draft.text[start:end]:
                draft.replace((start, end), each)
        elif index < last:
            draft.replace((start, spans[index + 1][0]), "")
        else:
            draft.replace((spans[last][1], spans[-1][1]), "")


def is_cuda(name: str) -> bool:
    """Return whether a dotted name is one of torch's for CUDA that does not work without CUDA."""
    return kind_of(name) is Kind.NAME and not facts().keeps(name)
