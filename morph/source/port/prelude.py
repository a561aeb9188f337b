"""The additions to a ported module: its device, copies of stand-ins, and their imports."""

from __future__ import annotations

import ast
import functools
import importlib.resources
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence

from morph.source.draft import Draft
from morph.source.port.vocabulary import Vocabulary

STAND_INS = ("stand_ins.py", "ranges.py")
_MODULES = ("contextlib", "os", "platform", "re", "threading", "time", "types")


def with_prelude(text: str, vocabulary: Vocabulary, taken: set[str]) -> str:
    """Return a module's text with the stand-ins that its vocabulary uses.

    Args:
        text: The rewritten module, with line feeds.
        vocabulary: The vocabulary of the rewriting.
        taken: The names in the original module.
    """
    names = _needed(vocabulary.used)
    body = ast.parse(text).body
    imported = _imported(body)
    if not names and (
        vocabulary.torch in imported or not any(vocabulary.torch in names_in(each) for each in body)
    ):
        return text
    chosen = {name: vocabulary.name(name) for name in names}
    imports = _imports(imported, names, vocabulary, taken)
    copies = [_copy(name, {**chosen, **imports, "torch": vocabulary.torch}) for name in names]
    index = _place(body, {*chosen.values(), vocabulary.torch})
    return _inserted(text, body, index, imports, copies)


def _needed(used: Iterable[str]) -> list[str]:
    """Return the stand-ins in ``used`` and those that they use, in the order of their file."""
    found, waiting = set(), [*used]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += names_in(_stand_ins()[name][1]) & _stand_ins().keys()
    return [name for name in _stand_ins() if name in found]


@functools.cache
def _stand_ins() -> Mapping[str, tuple[str, ast.stmt]]:
    """Return the text of the file and the statement of each stand-in."""
    folder = importlib.resources.files(__package__)
    texts = [folder.joinpath(file).read_text(encoding="utf-8") for file in STAND_INS]
    return {name: (text, each) for text in texts for each in ast.parse(text).body for name in _bound(each)}


def _bound(statement: ast.stmt) -> Iterator[str]:
    match statement:
        case ast.FunctionDef(name=name) | ast.ClassDef(name=name) | ast.Assign(targets=[ast.Name(id=name)]):
            yield name


def names_in(node: ast.AST) -> set[str]:
    """Return the names that are read or bound in ``node``, except those of attributes and imports."""
    return {each.id for each in ast.walk(node) if isinstance(each, ast.Name)}


def _imports(
    imported: Mapping[str, str], names: Iterable[str], vocabulary: Vocabulary, taken: set[str]
) -> dict[str, str]:
    """Return the imports that the stand-ins need, and the name of each in the module."""
    used = {name for each in names for name in names_in(_stand_ins()[each][1])}
    wanted = [name for name in _MODULES if name in used and imported.get(name) != name]
    chosen = {name: name if name not in taken else f"{name}_module" for name in wanted}
    if imported.get(vocabulary.torch) != "torch":
        chosen["torch"] = vocabulary.torch
    return chosen


def _imported(body: Iterable[ast.stmt]) -> dict[str, str]:
    """Return the modules that the statements of a module import, by their names in it."""
    aliases = [alias for each in body if isinstance(each, ast.Import) for alias in each.names]
    roots = ((alias, alias.name.partition(".")[0]) for alias in aliases)
    return {alias.asname or root: alias.name if alias.asname else root for alias, root in roots}


def _copy(name: str, names: Mapping[str, str]) -> str:
    """Return a stand-in by other names, without annotations, which may use names that a module lacks."""
    text, statement = _stand_ins()[name]
    draft = Draft(text)
    for node in reversed([*ast.walk(statement)]):
        match node:
            case ast.Name(id=used) if used in names:
                draft.replace(node, names[used])
            case ast.FunctionDef():
                _remove_annotations(draft, node)
    if isinstance(statement, ast.FunctionDef | ast.ClassDef):
        start = text.index(name, draft.places.span(statement)[0])
        draft.replace((start, start + len(name)), names[name])
    return draft.code(statement)


def _remove_annotations(draft: Draft, function: ast.FunctionDef) -> None:
    span = draft.places.span
    parameters = function.args.args
    ends = {id(each): "=" for each in parameters[len(parameters) - len(function.args.defaults) :]}
    defaults = dict(zip(ends, map(span, function.args.defaults), strict=True))
    for each in filter(None, [*parameters, function.args.vararg, function.args.kwarg]):
        if each.annotation:
            start, end = span(each)
            draft.replace(
                (start + len(each.arg), defaults.get(id(each), (end, 0))[0]), ends.get(id(each), "")
            )
    if function.returns:
        arrow = draft.text.rindex(" -> ", 0, span(function.returns)[0])
        draft.replace((arrow, span(function.returns)[1]), "")


def _place(body: Sequence[ast.stmt], names: set[str]) -> int:
    """Return the index of the statement after the prelude: after the imports, before the first use."""
    uses = (index for index, each in enumerate(body) if names & names_in(each) and not _is_import(each))
    first = next(uses, len(body))
    imports = [index for index, each in enumerate(body) if _is_import(each)]
    match body:
        case [ast.Expr(value=ast.Constant(value=str())), *_]:
            docstring = 1
        case _:
            docstring = 0
    before = [index + 1 for index in imports if index < first]
    torch = [index + 1 for index in imports if "torch" in _imported([body[index]]).values()]
    return max([docstring, *before, *torch[:1]])


def _is_import(statement: ast.stmt) -> bool:
    match statement:
        case ast.Import() | ast.ImportFrom():
            return True
        case ast.Try(body=body) | ast.If(body=body):
            return any(map(_is_import, body))
    return False


def _inserted(
    text: str, body: Sequence[ast.stmt], index: int, imports: Mapping[str, str], copies: Sequence[str]
) -> str:
    """Return the text with the imports and the copies before a statement."""
    lines = re.findall(r"[^\n]*\n|[^\n]+", text)
    place = body[index - 1].end_lineno or 0 if index else _first_line(body[0]) - 1 if body else len(lines)
    if place == len(lines) and lines and not lines[-1].endswith("\n"):
        lines[-1] += "\n"
    words = (f"{name} as {alias}" if name != alias else name for name, alias in sorted(imports.items()))
    added = [f"import {each}\n" for each in words]
    return "".join([*lines[:place], *added, *_spaced(copies, lines[place:]), *lines[place:]])


def _first_line(statement: ast.stmt) -> int:
    decorators: list[ast.expr] = getattr(statement, "decorator_list", [])
    return min([statement.lineno, *(each.lineno for each in decorators)])


def _spaced(copies: Sequence[str], after: Sequence[str]) -> list[str]:
    """Return the copies with a blank line before the first, and two before each function and class."""
    if not copies:
        return []
    spaces = ["\n"] + ["\n\n" if _is_block(each) else "" for each in copies[1:]]
    found = [f"{space}{each}\n" for space, each in zip(spaces, copies, strict=True)]
    wanted = 2 if _is_block(copies[-1]) or _is_block("".join(after).lstrip()) else 1
    missing = wanted - sum(1 for line in after[:wanted] if not line.strip())
    return [*found, "\n" * missing] if "".join(after).strip() else found


def _is_block(code: str) -> bool:
    return code.startswith(("def ", "class ", "@", "async ", "if ", "for ", "with ", "try:", "while "))
