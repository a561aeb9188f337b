"""Recorded signatures, which are strings, and whether one accepts all calls that another accepts."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import warnings
from collections.abc import Callable, Sequence
from typing import Any

from morph.backends.tables import surfaces
from morph.backends.tables.table import Table
from tests.aliases.names import resolved


@dataclasses.dataclass(frozen=True)
class Signature:
    """The parameters of a recorded function, with defaults as text.

    Attributes:
        positional: Names of those that a call may pass by position, and by name too.
        keyword_only: Names of those that it may pass by name only.
        defaults: Text of the default by name; a parameter without one is required.
        rest: Whether it accepts any others by position.
        named_rest: Whether it accepts any others by name.
    """

    positional: Sequence[str]
    keyword_only: Sequence[str]
    defaults: dict[str, str]
    rest: bool
    named_rest: bool

    @property
    def names(self) -> list[str]:
        return [*self.positional, *self.keyword_only]


def parse(text: str) -> Signature:
    """Parses a recorded signature, `"(device=None, priority=0, **kwargs)"`."""
    arguments = ast.parse(f"def function{text.removeprefix('classmethod').strip()}: ...").body[0].args  # type: ignore[attr-defined]
    positional = [each.arg for each in (*arguments.posonlyargs, *arguments.args)]
    keyword_only = [each.arg for each in arguments.kwonlyargs]
    with_default = positional[len(positional) - len(arguments.defaults) :]
    pairs = [*zip(with_default, arguments.defaults, strict=True)]
    pairs += [*zip(keyword_only, arguments.kw_defaults, strict=True)]
    defaults = {name: ast.unparse(default) for name, default in pairs if default is not None}
    return Signature(
        positional, keyword_only, defaults, arguments.vararg is not None, arguments.kwarg is not None
    )


def of(function: Any, *, skip: int = 0) -> Signature:
    """Reads the signature of an adapter, without its first `skip` parameters."""
    parameters = list(inspect.signature(function).parameters.values())[skip:]
    kinds = {kind: [each for each in parameters if each.kind is kind] for kind in inspect._ParameterKind}
    positional = [
        each.name for each in parameters if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)
    ]
    return Signature(
        positional,
        [each.name for each in kinds[inspect.Parameter.KEYWORD_ONLY]],
        {each.name: repr(each.default) for each in parameters if each.default is not each.empty},
        bool(kinds[inspect.Parameter.VAR_POSITIONAL]),
        bool(kinds[inspect.Parameter.VAR_KEYWORD]),
    )


def refuses(vendor: Signature, cuda: Signature) -> str:
    """Describes a call that CUDA's signature accepts and the vendor's does not, "" if there is none."""
    if cuda.positional[:1] in (["self"], ["cls"]):
        vendor, cuda = _unbound(vendor), _unbound(cuda)
    for place, name in enumerate(cuda.positional):
        if place >= len(vendor.positional):
            if not (vendor.rest and vendor.named_rest):
                return f"{name} is not taken"
        elif vendor.positional[place] != name:
            return f"{name} is at the place of {vendor.positional[place]}"
    for name in cuda.keyword_only:
        if name not in vendor.names and not vendor.named_rest:
            return f"{name} is not taken"
    required = [name for name in vendor.names if name not in vendor.defaults]
    lacking = [name for name in required if name not in cuda.names or name in cuda.defaults]
    return f"{lacking[0]} is required" if lacking else ""


def _unbound(signature: Signature) -> Signature:
    return dataclasses.replace(signature, positional=signature.positional[1:])


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
