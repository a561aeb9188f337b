"""The places in source that run only with an accelerator."""

from __future__ import annotations

import ast

from morph.source.port.replacements import facts
from morph.source.port.source import Source
from morph.source.scan.uses import Kind


def is_guarded(source: Source, node: ast.AST) -> bool:
    """Return whether ``node`` is evaluated only where there is an accelerator."""
    parent = source.parent(node)
    while parent is not None:
        match parent:
            case ast.If() if node in parent.body and asks(source, parent.test):
                return True
            case ast.IfExp() if node is parent.body and asks(source, parent.test):
                return True
            case ast.BoolOp(op=ast.And(), values=values) if node in values:
                if any(asks(source, each) for each in values[: values.index(node)]):
                    return True
            case ast.keyword(arg=str(name)) if name in _device_numbers(source, parent):
                return True
        node, parent = parent, source.parent(parent)
    return False


def _device_numbers(source: Source, argument: ast.keyword) -> tuple[str, ...]:
    """Return the parameters of an argument's call that are None where there is no accelerator."""
    call = source.parent(argument)
    names = source.names(call.func) if isinstance(call, ast.Call) else []
    return next((facts().device_numbers[name] for name in names if name in facts().device_numbers), ())


def is_demanded(source: Source, node: ast.AST) -> bool:
    """Return whether ``node`` is in an assertion: a program's demands on its device must hold on the CPU."""
    parent: ast.AST | None = node
    while parent is not None and not isinstance(parent, ast.stmt | ast.Lambda):
        parent = source.parent(parent)
    return isinstance(parent, ast.Assert)


def is_divisor(source: Source, node: ast.AST) -> bool:
    """Return whether ``node`` divides something: ``rank % torch.cuda.device_count()``."""
    parent = source.parent(node)
    if not isinstance(parent, ast.BinOp) or parent.right is not node:
        return False
    return isinstance(parent.op, ast.Mod | ast.FloorDiv | ast.Div)


def asks(source: Source, test: ast.expr) -> bool:
    """Return whether ``test`` is true only where there is an accelerator."""
    match test:
        case ast.BoolOp(op=ast.And(), values=values):
            return any(asks(source, each) for each in values)
        case ast.Compare(left=left, ops=[operator], comparators=[right]):
            if not isinstance(operator, ast.Eq | ast.In):
                return False
            if source.is_accelerator(left) or source.is_accelerator(right):
                return True
            compared = [*source.uses_at(left, Kind.COMPARISON), *source.uses_at(right, Kind.COMPARISON)]
            return any(use.name == '"cuda"' for use in compared)
    return source.says_available(test)
