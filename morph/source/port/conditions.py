"""The places in source that run only with an accelerator."""

from __future__ import annotations

import libcst as cst

from morph.source.port.replacements import facts
from morph.source.port.source import Source
from morph.source.scan.uses import Kind


def is_guarded(source: Source, node: cst.CSTNode) -> bool:
    """Return whether ``node`` is evaluated only where there is an accelerator."""
    parent = source.parent(node)
    while parent is not None:
        match parent:
            case cst.If() | cst.IfExp() if node is parent.body and _asks(source, parent.test):
                return True
            case cst.BooleanOperation(operator=cst.And()) if node is parent.right and _asks(
                source, parent.left
            ):
                return True
            case cst.Arg(keyword=cst.Name(keyword)) if keyword in _device_numbers(source, parent):
                return True
        node, parent = parent, source.parent(parent)
    return False


def _device_numbers(source: Source, argument: cst.Arg) -> tuple[str, ...]:
    """Return the parameters of an argument's call that are None where there is no accelerator."""
    call = source.parent(argument)
    names = source.names(call.func) if isinstance(call, cst.Call) else []
    return next((facts().device_numbers[name] for name in names if name in facts().device_numbers), ())


def is_demanded(source: Source, node: cst.CSTNode) -> bool:
    """Return whether ``node`` is in an assertion: a program's demands on its device must hold on the CPU."""
    parent: cst.CSTNode | None = node
    while parent is not None and not isinstance(parent, cst.BaseStatement | cst.Lambda | cst.Assert):
        parent = source.parent(parent)
    return isinstance(parent, cst.Assert)


def is_divisor(source: Source, node: cst.CSTNode) -> bool:
    """Return whether ``node`` divides something: ``rank % torch.cuda.device_count()``."""
    parent = source.parent(node)
    if not isinstance(parent, cst.BinaryOperation) or parent.right is not node:
        return False
    return isinstance(parent.operator, cst.Modulo | cst.FloorDivide | cst.Divide)


def _asks(source: Source, test: cst.BaseExpression) -> bool:
    """Return whether ``test`` is true only where there is an accelerator."""
    match test:
        case cst.BooleanOperation(operator=cst.And(), left=left, right=right):
            return _asks(source, left) or _asks(source, right)
        case cst.Comparison(
            left=left, comparisons=[cst.ComparisonTarget(operator=operator, comparator=right)]
        ):
            if not isinstance(operator, cst.Equal | cst.In):
                return False
            if source.is_accelerator(left) or source.is_accelerator(right):
                return True
            compared = [*source.uses_at(left, Kind.COMPARISON), *source.uses_at(right, Kind.COMPARISON)]
            return any(use.name == '"cuda"' for use in compared)
    return source.says_available(test)
