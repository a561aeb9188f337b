"""Stand-ins for names that the simulated device lacks, and the recorded parameters for the others."""

from __future__ import annotations

import ast
import functools
import inspect
from collections.abc import Callable, Collection, Iterator
from types import FunctionType
from typing import Any

from morph.backends.tables.surfaces import Surface
from morph.software.machine import NotSimulatedError


def stand_in(name: str, surface: Surface) -> Any:
    """Make a function, class or value that has the recorded parameters and members, and refuses every use.

    Args:
        name: The dotted name.
        surface: Where it is recorded.
    """
    if name in surface.functions:
        return _refusing_function(name, surface.signature(name))
    if name in surface.classes:
        return _refusing_class(name, surface)
    return RefusingValue(name)


def _refusing_function(name: str, signature: str | None) -> Callable[..., Any]:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise NotSimulatedError(name)

    refuse.__module__, _, refuse.__name__ = name.rpartition(".")
    refuse.__qualname__ = refuse.__name__
    refuse.__doc__ = "Not simulated."
    if signature is not None:
        refuse.__signature__ = parse_signature(signature)  # type: ignore[attr-defined]
    return refuse


def _refusing_class(name: str, surface: Surface) -> type:
    def refuse(cls: type, *arguments: Any, **options: Any) -> Any:
        raise NotSimulatedError(name)

    module, _, last = name.rpartition(".")
    body: dict[str, Any] = {"__new__": refuse, "__module__": module, "__doc__": "Not simulated."}
    if signature := surface.signature(name):
        body["__signature__"] = parse_signature(signature)
    made = type(last, (), body)
    complete(made, name, surface)
    return made


def fitted(value: Any, name: str, surface: Surface) -> Any:
    """Return a simulated object with the vendor's exact parameters and methods.

    Args:
        value: The simulated object.
        name: The dotted name that it is to have.
        surface: Where that is recorded.

    Returns:
        For a function with other parameters one that hands the recorded ones on by place, else the value.
    """
    if isinstance(value, type):
        complete(value, name, surface)
        return value
    return _with_parameters(value, surface.functions.get(name))


def complete(made: type, name: str, surface: Surface) -> None:
    """Give a class the vendor's parameters and members, of which those it lacks refuse, and no other methods.

    Properties stay that are not recorded: the vendor's class may have them of a base class in C++.
    """
    row = surface.classes.get(name)
    _leave_out(made, row.members if row else ())
    for member, kind in row.members.items() if row else ():
        full = f"{name}.{member}"
        if hasattr(made, member):
            own = inspect.getattr_static(made, member)
            if (fit := _with_parameters(own, surface.signature(full))) is not own:
                setattr(made, member, fit)
        elif kind in ("property", "attribute"):
            setattr(made, member, property(_refusing_function(full, None)))
        else:
            setattr(made, member, _refusing_function(full, surface.signature(full)))


def _leave_out(made: type, members: Collection[str]) -> None:
    """Delete the methods of a simulated class that the vendor's class of this release lacks."""
    if not members or not made.__module__.startswith("morph."):
        return
    for member, value in list(vars(made).items()):
        is_method = isinstance(value, (FunctionType, staticmethod, classmethod))
        if is_method and member not in members and not member.startswith("_"):
            delattr(made, member)


def _with_parameters(value: Any, recorded: str | None) -> Any:
    if not recorded or not isinstance(value, FunctionType):
        return value
    same = _shapes(inspect.signature(value)) == _shapes(parse_signature(recorded))
    return value if same else _taking(value, recorded)


def _shapes(signature: inspect.Signature) -> list[tuple[str, Any, str]]:
    return [(each.name, each.kind, str(each.default)) for each in signature.parameters.values()]


@functools.cache  # so that all names of one function lead to one
def _taking(function: FunctionType, recorded: str) -> Callable[..., Any]:
    signature = parse_signature(recorded)

    @functools.wraps(function)
    def call(*arguments: Any, **options: Any) -> Any:
        given = signature.bind(*arguments, **options)
        given.apply_defaults()
        return function(*given.args, **given.kwargs)

    call.__signature__ = signature  # type: ignore[attr-defined]
    return call


class RefusingValue:
    """A value that the simulated device lacks; it refuses every use."""

    def __init__(self, name: str) -> None:
        object.__setattr__(self, "_name", name)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):  # what inspect, copy and pickle ask of anything
            raise AttributeError(name)
        raise NotSimulatedError(f"{self._name}.{name}")

    def __setattr__(self, name: str, value: Any) -> None:
        raise NotSimulatedError(f"{self._name}.{name}")

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        """Always refused."""
        raise NotSimulatedError(self._name)


class _Source:
    """A default as its source text."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __repr__(self) -> str:
        return self.text


def parse_signature(text: str) -> inspect.Signature:
    """Read a recorded signature; defaults that are not literals stay source text.

    >>> str(parse_signature("(size, *, device=None, dtype=torch.float16)"))
    '(size, *, device=None, dtype=torch.float16)'
    """
    function = ast.parse(f"def f{text}: ...").body[0]
    assert isinstance(function, ast.FunctionDef)
    return inspect.Signature(list(_parameters(function.args)))


def _parameters(arguments: ast.arguments) -> Iterator[inspect.Parameter]:
    kinds = inspect.Parameter
    positional = [*arguments.posonlyargs, *arguments.args]
    gap: list[ast.expr | None] = [None] * (len(positional) - len(arguments.defaults))
    for each, default in zip(positional, [*gap, *arguments.defaults], strict=True):
        only = each in arguments.posonlyargs
        kind = kinds.POSITIONAL_ONLY if only else kinds.POSITIONAL_OR_KEYWORD
        yield kinds(each.arg, kind, default=_default(default))
    if arguments.vararg:
        yield kinds(arguments.vararg.arg, kinds.VAR_POSITIONAL)
    for each, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield kinds(each.arg, kinds.KEYWORD_ONLY, default=_default(default))
    if arguments.kwarg:
        yield kinds(arguments.kwarg.arg, kinds.VAR_KEYWORD)


def _default(expression: ast.expr | None) -> Any:
    if expression is None:
        return inspect.Parameter.empty
    try:
        return ast.literal_eval(expression)
    except ValueError:
        return _Source(ast.unparse(expression))
