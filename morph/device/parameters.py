"""Translates CUDA's words in the arguments of torch's functions, as listed in ``parameters.toml``."""

from __future__ import annotations

import inspect
import operator
from collections.abc import Callable, Mapping
from functools import cache
from types import ModuleType
from typing import Any, NamedTuple

import wrapt

from morph.base import toml
from morph.base.journal import Journal
from morph.device.holders import holders
from morph.device.words import Words
from morph.finders.finder import on_import

Args = tuple[Any, ...]
Kwargs = dict[str, Any]
Handler = Callable[[Callable[..., Any], Any, Args, Kwargs], Any]


def install(words: Words, journal: Journal) -> None:
    """Wrap every function of the table, now or when its module is imported."""
    for name, kinds in table().items():
        _translate(name, kinds, words, journal)


@cache
def table() -> Mapping[str, Mapping[str, str]]:
    """Return the table: "module:qualified name" to parameter to kind."""
    return toml.beside(__file__, "parameters.toml")


def wrap(name: str, handler: Callable[[Callable[..., Any]], Handler], words: Words, journal: Journal) -> None:
    """Wrap a function when its module is imported, under every name that torch's packages have for it.

    Args:
        name: "module:qualified name".
        handler: Called with the function; returns the wrapt wrapper.
        words: Reports whether the activation lasts.
        journal: Records every rebinding.
    """
    module_name, _, qualified = name.partition(":")
    path, _, attribute = qualified.rpartition(".")

    def replace(module: ModuleType) -> None:
        owner = operator.attrgetter(path)(module) if path else module
        original = inspect.getattr_static(owner, attribute)
        wrapper = wrapt.FunctionWrapper(original, handler(getattr(owner, attribute)), enabled=words.engaged)
        rebind(owner, attribute, wrapper, journal)

    on_import(module_name, replace, journal, name)


def rebind(owner: Any, attribute: str, value: Any, journal: Journal) -> None:
    """Bind a class's or module's attribute, and the same object in torch's modules that imported it.

    A module that is imported later gets the new object; undoing replaces it there too.
    """
    original = inspect.getattr_static(owner, attribute)

    def exchange(old: object, new: object) -> None:
        for holder in holders(owner, attribute, old):
            setattr(holder, attribute, new)

    journal.on_undo(lambda: exchange(value, original))
    exchange(original, value)


class Parameter(NamedTuple):
    """One parameter for a word.

    Attributes:
        name: Its keyword.
        position: Its index among the positional arguments, or None if it is keyword-only.
        translate: Translates a value.
        default: The value to pass where none is given, or ``inspect.Parameter.empty`` if the function's own
            default needs no translation.
    """

    name: str
    position: int | None
    translate: Callable[[Any], Any]
    default: Any


def bind(function: Callable[..., Any], translators: Mapping[str, Callable[[Any], Any]]) -> list[Parameter]:
    """Find the positions of the parameters of ``function`` that need translation.

    Args:
        function: As a caller sees it: bound, where it is a class method.
        translators: By parameter name.

    Returns:
        One entry for each, with its position from the caller's view.

    Raises:
        LookupError: If the function has no such parameter.
    """
    own = list(_signature(function).parameters.values())
    if own and own[0].name == "self":
        del own[0]
    missing = set(translators) - {parameter.name for parameter in own}
    if missing:
        raise LookupError(f"{function.__qualname__} takes no {', '.join(sorted(missing))}")
    places = {parameter.name: (place, parameter) for place, parameter in enumerate(own)}
    return [_parameter(*places[name], translate) for name, translate in translators.items()]


_signature = cache(inspect.signature)  # of functions that live as long as the process


def translating(function: Callable[..., Any], translators: Mapping[str, Callable[[Any], Any]]) -> Handler:
    """Return a wrapt wrapper that translates arguments of ``function`` and calls it."""
    parameters = bind(function, translators)

    def call(wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> Any:
        for parameter in parameters:
            args, kwargs = _substitute(parameter, args, kwargs)
        return wrapped(*args, **kwargs)

    return call


def _translate(name: str, kinds: Mapping[str, str], words: Words, journal: Journal) -> None:
    translators = {parameter: operator.attrgetter(kind)(words) for parameter, kind in kinds.items()}
    wrap(name, lambda function: translating(function, translators), words, journal)


def _substitute(parameter: Parameter, args: Args, kwargs: Kwargs) -> tuple[Args, Kwargs]:
    position = parameter.position
    if position is not None and position < len(args):
        value = parameter.translate(args[position])
        return (*args[:position], value, *args[position + 1 :]), kwargs
    if parameter.name in kwargs:
        return args, {**kwargs, parameter.name: parameter.translate(kwargs[parameter.name])}
    if parameter.default is not inspect.Parameter.empty:
        return args, {**kwargs, parameter.name: parameter.default}
    return args, kwargs


def _parameter(place: int, own: inspect.Parameter, translate: Callable[[Any], Any]) -> Parameter:
    default = own.default
    if default is not inspect.Parameter.empty:
        translated = translate(default)
        default = inspect.Parameter.empty if translated == default else translated
    position = None if own.kind is inspect.Parameter.KEYWORD_ONLY else place
    return Parameter(own.name, position, translate, default)
