"""Recorded signatures, which are strings, and whether one accepts all calls that another accepts."""

import ast
import inspect
import warnings
from collections.abc import Callable
from inspect import Parameter, Signature
from typing import Any

from morph.backends.tables import surfaces
from morph.backends.tables.table import Table
from tests.aliases.names import resolved


def parse(text: str) -> Signature:
    """Parses a recorded signature, `"(device=None, **kwargs)"`; its defaults are values, or their text."""
    module = ast.parse(f"def function{text.removeprefix('classmethod').strip()}: ...")
    arguments = module.body[0].args  # type: ignore[attr-defined]
    for defaults in (arguments.defaults, arguments.kw_defaults):
        defaults[:] = [each and _literal(each) for each in defaults]
    scope: dict[str, Any] = {}
    exec(compile(ast.fix_missing_locations(module), text, "exec"), scope)
    return inspect.signature(scope["function"])


def _literal(default: ast.expr) -> ast.expr:
    try:
        ast.literal_eval(default)
    except ValueError:
        return ast.Constant(ast.unparse(default))
    return default


def of(function: Any, *, skip: int = 0) -> Signature:
    """Reads the signature of an adapter, without its first `skip` parameters."""
    signature = inspect.signature(function)
    return signature.replace(parameters=list(signature.parameters.values())[skip:])


def refuses(vendor: Signature, cuda: Signature) -> str:
    """Describes a call that CUDA's signature accepts and the vendor's does not, "" if there is none."""
    places, asked = _positional(vendor), _positional(cuda)
    if asked[:1] in (["self"], ["cls"]):
        places, asked = places[1:], asked[1:]
    own, named = _of(vendor, Parameter.KEYWORD_ONLY), _of(cuda, Parameter.KEYWORD_ONLY)
    any_name = bool(_of(vendor, Parameter.VAR_KEYWORD))
    for place, name in enumerate(asked):
        if place >= len(places):
            if not (any_name and _of(vendor, Parameter.VAR_POSITIONAL)):
                return f"{name} is not taken"
        elif places[place] != name:
            return f"{name} is at the place of {places[place]}"
    for name in named:
        if name not in places + own and not any_name:
            return f"{name} is not taken"
    required = [name for name in places + own if _is_required(vendor, name)]
    lacking = [name for name in required if name not in asked + named or not _is_required(cuda, name)]
    return f"{lacking[0]} is required" if lacking else ""


def _of(signature: Signature, *kinds: Any) -> list[str]:
    return [name for name, each in signature.parameters.items() if each.kind in kinds]


def _positional(signature: Signature) -> list[str]:
    return _of(signature, Parameter.POSITIONAL_ONLY, Parameter.POSITIONAL_OR_KEYWORD)


def _is_required(signature: Signature, name: str) -> bool:
    return signature.parameters[name].default is Parameter.empty


def of_target(backend: Table, target: str) -> Signature | None:
    """Returns the signature of a vendor's target: recorded where its surface is, else of this machine."""
    if backend.facts.surface:
        text = surfaces.load(backend.facts.surface).signature(target)
        return parse(text) if text else None
    return _signature_of(resolved(target))


def _signature_of(function: Callable[..., Any]) -> Signature | None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return of(function)
    except (TypeError, ValueError):  # functions written in C have no signature
        return None
