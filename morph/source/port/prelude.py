"""The additions to a ported module: its device, copies of stand-ins, and their imports."""

from __future__ import annotations

import functools
import importlib.resources
from collections.abc import Iterable, Iterator, Mapping, Sequence

import libcst as cst

from morph.source.port.statements import leading_lines
from morph.source.port.vocabulary import Vocabulary

STAND_INS = ("stand_ins.py", "ranges.py")


def with_prelude(module: cst.Module, vocabulary: Vocabulary, taken: frozenset[str]) -> cst.Module:
    """Return ``module`` with the stand-ins that its vocabulary uses.

    Args:
        module: The rewritten module.
        vocabulary: The vocabulary of the rewriting.
        taken: The names in the original module.
    """
    names = _needed(vocabulary.used)
    if not names and not _lacks_torch(module, vocabulary):
        return module
    chosen = {name: vocabulary.name(name) for name in names}
    copies = [_stand_ins()[name] for name in names]
    imports = _imports(module, copies, vocabulary, taken)
    renamed = [_copy(copy, {**chosen, **imports, "torch": vocabulary.torch}) for copy in copies]
    index = _place(module, {*chosen.values(), vocabulary.torch})
    return _inserted(module, index, imports, _spaced(renamed))


def _needed(used: Iterable[str]) -> list[str]:
    """Return the stand-ins in ``used`` and those that they use, in the order of their file."""
    found, waiting = set(), [*used]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += names_in(_stand_ins()[name]) & _stand_ins().keys()
    return [name for name in _stand_ins() if name in found]


@functools.cache
def _stand_ins() -> Mapping[str, cst.BaseStatement]:
    folder = importlib.resources.files(__package__)
    texts = [folder.joinpath(file).read_text(encoding="utf-8") for file in STAND_INS]
    return {name: each for text in texts for each in cst.parse_module(text).body for name in _bound(each)}


def _bound(statement: cst.BaseStatement) -> Iterator[str]:
    match statement:
        case cst.FunctionDef(name=cst.Name(name)) | cst.ClassDef(name=cst.Name(name)):
            yield name
        case cst.SimpleStatementLine(body=[cst.Assign(targets=[cst.AssignTarget(target=cst.Name(name))])]):
            yield name


def names_in(node: cst.CSTNode) -> set[str]:
    """Return the names that are read or bound in ``node``, except those of attributes and imports."""
    names = _Names()
    node.visit(names)
    return names.found


class _Names(cst.CSTVisitor):
    def __init__(self) -> None:
        super().__init__()
        self.found: set[str] = set()

    def visit_Name(self, node: cst.Name) -> None:
        self.found.add(node.value)

    def visit_Attribute(self, node: cst.Attribute) -> bool:
        node.value.visit(self)
        return False

    def visit_Arg(self, node: cst.Arg) -> bool:
        node.value.visit(self)
        return False

    def visit_Import(self, node: cst.Import) -> bool:
        return False

    def visit_ImportFrom(self, node: cst.ImportFrom) -> bool:
        return False


def _lacks_torch(module: cst.Module, vocabulary: Vocabulary) -> bool:
    return vocabulary.torch in names_in(module) and vocabulary.torch not in _imported(module.body)


def _imports(
    module: cst.Module, copies: Iterable[cst.BaseStatement], vocabulary: Vocabulary, taken: frozenset[str]
) -> dict[str, str]:
    """Return the needed imports, and the name of each in the module."""
    used = {name for copy in copies for name in names_in(copy)}
    imported = _imported(module.body)
    wanted = {name for name in _MODULES if name in used and imported.get(name) != name}
    chosen = {name: name if name not in taken else f"{name}_module" for name in sorted(wanted)}
    if imported.get(vocabulary.torch) != "torch":
        chosen["torch"] = vocabulary.torch
    return chosen


_MODULES = ("contextlib", "os", "platform", "re", "threading", "time", "types")


def _imported(body: Iterable[cst.CSTNode]) -> dict[str, str]:
    """Return the modules that the statements of a module import, by their names in it."""
    found: dict[str, str] = {}
    for statement in body:
        for small in getattr(statement, "body", ()) if isinstance(statement, cst.SimpleStatementLine) else ():
            if isinstance(small, cst.Import):
                found.update(map(_binding, small.names))
    return found


def _binding(alias: cst.ImportAlias) -> tuple[str, str]:
    name = alias.evaluated_name
    return (alias.evaluated_alias, name) if alias.evaluated_alias else (name.partition(".")[0],) * 2


class _Renaming(cst.CSTTransformer):
    """Renames names for the module, and removes annotations, which may use names that it lacks."""

    def __init__(self, names: Mapping[str, str]) -> None:
        super().__init__()
        self._names = names

    def leave_Name(self, original_node: cst.Name, updated_node: cst.Name) -> cst.Name:
        """Rename."""
        return updated_node.with_changes(value=self._names.get(original_node.value, original_node.value))

    def leave_Attribute(self, original_node: cst.Attribute, updated_node: cst.Attribute) -> cst.Attribute:
        """Keep the name of the attribute."""
        return updated_node.with_changes(attr=original_node.attr)

    def leave_Arg(self, original_node: cst.Arg, updated_node: cst.Arg) -> cst.Arg:
        """Keep the name of the parameter."""
        return updated_node.with_changes(keyword=original_node.keyword)

    def leave_Param(self, original_node: cst.Param, updated_node: cst.Param) -> cst.Param:
        """Remove the annotation."""
        equal = cst.AssignEqual(cst.SimpleWhitespace(""), cst.SimpleWhitespace(""))
        return updated_node.with_changes(
            annotation=None,
            equal=equal if updated_node.default else cst.MaybeSentinel.DEFAULT,
            name=original_node.name,
        )

    def leave_FunctionDef(
        self, original_node: cst.FunctionDef, updated_node: cst.FunctionDef
    ) -> cst.FunctionDef:
        """Remove the annotation."""
        return updated_node.with_changes(returns=None)


def _copy(statement: cst.BaseStatement, names: Mapping[str, str]) -> cst.BaseStatement:
    copy = statement.visit(_Renaming(names))
    assert isinstance(copy, cst.BaseStatement)
    return copy


def _place(module: cst.Module, names: set[str]) -> int:
    """Return the index of the statement after the prelude: after the imports, before the first use."""
    uses = (
        index for index, each in enumerate(module.body) if names & names_in(each) and not _is_import(each)
    )
    first = next(uses, len(module.body))
    imports = [index for index, each in enumerate(module.body) if _is_import(each)]
    docstring = 1 if module.get_docstring() is not None else 0
    before = [index + 1 for index in imports if index < first]
    torch = [index + 1 for index in imports if "torch" in _imported([module.body[index]]).values()]
    return max([docstring, *before, *torch[:1]])


def _is_import(statement: cst.CSTNode) -> bool:
    match statement:
        case cst.SimpleStatementLine(body=body):
            return all(isinstance(each, cst.Import | cst.ImportFrom) for each in body)
        case cst.Try(body=body) | cst.If(body=body):
            return any(_is_import(each) for each in body.body)
    return False


def _with_imports(body: Sequence[cst.BaseStatement], imports: Mapping[str, str]) -> list[cst.BaseStatement]:
    """Return the statements before the prelude with ``imports`` in their first block of imports."""
    found = [*body]
    for name, alias in sorted(imports.items()):
        text = f"import {name}" if name == alias else f"import {name} as {alias}"
        _insert(found, cst.ensure_type(cst.parse_statement(text), cst.SimpleStatementLine))
    return found


def _insert(body: list[cst.BaseStatement], line: cst.SimpleStatementLine) -> None:
    """Insert an import into a block of imports in alphabetical order."""
    first = next((n for n, each in enumerate(body) if _is_plain_import(each)), len(body))
    rest = range(first + 1, len(body))
    end = next((n for n in rest if leading_lines(body[n]) or not _is_plain_import(body[n])), len(body))
    index = next((n for n in range(first, end) if _code(body[n]) > _code(line)), end)
    if index == first < len(body):
        line = line.with_changes(leading_lines=leading_lines(body[first]))
        body[first] = body[first].with_changes(leading_lines=[])
    body.insert(index, line)


def _is_plain_import(statement: cst.CSTNode) -> bool:
    match statement:
        case cst.SimpleStatementLine(body=[cst.Import()]):
            return True
    return False


def _code(node: cst.CSTNode) -> str:
    return cst.Module([]).code_for_node(node).strip()


def _spaced(copies: Sequence[cst.BaseStatement]) -> list[cst.BaseStatement]:
    """Return the copies with a blank line before the first, and two before each function and class."""
    return [
        each.with_changes(leading_lines=_blank(1 if index == 0 else 0 if _is_line(each) else 2))
        for index, each in enumerate(copies)
    ]


def _is_line(statement: cst.BaseStatement) -> bool:
    return isinstance(statement, cst.SimpleStatementLine)


def _blank(count: int) -> list[cst.EmptyLine]:
    return [cst.EmptyLine(indent=False)] * count


def _inserted(
    module: cst.Module, index: int, imports: Mapping[str, str], copies: list[cst.BaseStatement]
) -> cst.Module:
    before, after = _with_imports(module.body[:index], imports), [*module.body[index:]]
    if after and copies:
        wanted = 1 if _is_line(copies[-1]) and _is_line(after[0]) else 2
        lines = leading_lines(after[0])
        missing = wanted - sum(1 for line in lines[:wanted] if line.comment is None)
        after[0] = after[0].with_changes(leading_lines=[*_blank(missing), *lines])
    return module.with_changes(body=[*before, *copies, *after])
