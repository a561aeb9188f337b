"""The uses that the rules find: those that need a person's attention, and those that differ by backend."""

from __future__ import annotations

import ast
import functools
import re
from collections.abc import Iterator

from morph.source.resolution import Resolution, text_of, texts_in
from morph.source.scan.names import imported_names
from morph.source.scan.rules import Rule, by, rules
from morph.source.scan.uses import Found, Kind

PREFIXES = ("startswith", "endswith")
COMPUTED = "computed-name"


def attention(resolution: Resolution) -> Iterator[Found]:
    """Yield the uses in a module that need a person's attention, by the rules."""
    named: set[str] = set()
    for node in resolution.chains:
        for name, rule in _of_chain(resolution, node):
            named.add(name)
            yield Found(node, name, Kind.LOOK, rule)
    for statement in resolution.imports:
        yield from _of_import(statement, named)
        yield from _of_required(resolution, statement, named)
    yield from _attributes(resolution)
    reported: set[ast.AST] = set()
    for call in resolution.nodes(ast.Call):
        found = [*_of_call(resolution, call)]
        reported.update(ast.walk(call) if found else ())
        yield from (Found(call, name, Kind.LOOK, rule) for name, rule in found)
    for constant in resolution.nodes(ast.Constant):
        if constant not in reported:
            yield from (Found(constant, name, Kind.LOOK, rule) for name, rule in _of_text(constant.value))
    choices: list[ast.Compare | ast.Match] = [*resolution.nodes(ast.Compare), *resolution.nodes(ast.Match)]
    for choice in choices:
        yield from (Found(choice, name, Kind.LOOK, rule) for name, rule in _of_comparison(resolution, choice))


def differences(resolution: Resolution) -> Iterator[Found]:
    """Yield the uses in a module that work on every backend, though not on each as on CUDA."""
    chains = [(node, name) for node in resolution.chains for name in resolution.spelled(node)]
    used = {name for _, name in chains}
    for node, name in chains:
        for rule in _covering(name, differs=True):
            if rule.is_said_of(name, used):
                yield Found(node, name, Kind.NOTE, rule.name)


def _attributes(resolution: Resolution) -> Iterator[Found]:
    attributes = ((node, node.attr) for node in resolution.nodes(ast.Attribute))
    methods = ((node, node.name) for node in resolution.nodes(ast.FunctionDef))
    for node, name in (*attributes, *methods):
        yield from (Found(node, f".{name}", Kind.LOOK, each.name) for each in by("attributes").get(name, ()))


def _of_call(resolution: Resolution, call: ast.Call) -> Iterator[tuple[str, str]]:
    names = {origin.name for origin in resolution.origins(call.func)}
    for name in sorted(names & by("calls").keys()):
        arguments = [*call.args, *(each.value for each in call.keywords)]
        keywords = [each.arg for each in call.keywords]
        for rule in by("calls")[name]:
            about = rule.about(keywords, texts_in(arguments))
            if about is not None:
                yield f"{name}({about})", rule.name
    if isinstance(call.func, ast.Attribute) and call.func.attr in PREFIXES:
        yield from _compared(resolution, call.func.value)
    yield from _of_request(resolution, call, names)


@functools.lru_cache(maxsize=1024)
def _of_text(text: object) -> list[tuple[str, str]]:
    found = [rule for rule in rules().values() if rule.alone and re.fullmatch(rule.alone, str(text))]
    return [(repr(text), rule.name) for rule in found] if isinstance(text, str) else []


def _of_request(resolution: Resolution, call: ast.Call, names: set[str]) -> Iterator[tuple[str, str]]:
    """Yield the module that a call imports, or the name that it computes."""
    for name in resolution.names(call):
        package = _packages().package_of(name)
        if package:
            yield package, _packages().name
    match call.args:
        case [holder, attribute, *_] if "getattr" in names and text_of(attribute) is None:
            if "torch.cuda" in resolution.names(holder):
                yield "getattr(torch.cuda, ...)", COMPUTED


def _of_comparison(resolution: Resolution, node: ast.Compare | ast.Match) -> Iterator[tuple[str, str]]:
    if isinstance(node, ast.Match):
        yield from _compared(resolution, node.subject)
        return
    operands = [node.left, *node.comparators]
    found = [[*_compared(resolution, operand)] for operand in operands]
    by_identity = any(isinstance(operator, ast.Is | ast.IsNot) for operator in node.ops)
    if not by_identity and not all(found):
        yield from dict.fromkeys(each for some in found for each in some)


def _compared(resolution: Resolution, operand: ast.expr) -> Iterator[tuple[str, str]]:
    """Yield each name in ``operand`` that should not be compared, with the rule."""
    parts = (part for part in ast.walk(operand) if isinstance(part, ast.expr))
    names = (origin.name for part in parts for origin in resolution.origins(part))
    for name in dict.fromkeys(names):
        yield from ((name, rule.name) for rule in by("compares").get(name, ()))


def _of_chain(resolution: Resolution, node: ast.expr) -> Iterator[tuple[str, str]]:
    for name in resolution.spelled(node):
        yield from ((name, rule.name) for rule in _covering(name))


@functools.cache
def _covering(name: str, differs: bool = False) -> tuple[Rule, ...]:
    return tuple(rule for rule in rules().values() if bool(rule.differs) is differs and rule.covers(name))


def _of_import(statement: ast.Import | ast.ImportFrom, named: set[str]) -> Iterator[Found]:
    """Yield the findings of an import statement, except for names that are reported at their use."""
    for alias, name in imported_names(statement):
        package = _packages().package_of(name)
        if package:
            yield Found(alias, package, Kind.LOOK, _packages().name)
        if not any(each == name or each.startswith(f"{name}.") for each in named):
            yield from (Found(alias, name, Kind.LOOK, rule.name) for rule in _covering(name))


def _of_required(
    resolution: Resolution, statement: ast.Import | ast.ImportFrom, named: set[str]
) -> Iterator[Found]:
    """Yield the modules that the module cannot be imported without, unless the file uses their names."""
    if not isinstance(resolution.scopes.parents.get(statement), ast.Module):
        return
    for alias, name in imported_names(statement):
        root = name.partition(".")[0]
        if not any(each.startswith(f"{root}.") for each in named):
            yield from (Found(alias, root, Kind.LOOK, rule.name) for rule in by("imports").get(root, ()))


def _packages() -> Rule:
    return rules()["nvidia-package"]
