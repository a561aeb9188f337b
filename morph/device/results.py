"""Text about a device that torch returns, in CUDA's words to code that sees CUDA: ``results.toml``."""

from __future__ import annotations

import inspect
import operator
import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

import wrapt

from morph.base import toml
from morph.base.journal import Journal
from morph.device.parameters import Args, Handler, Kwargs, wrap
from morph.device.words import Words
from morph.finders.finder import on_import


def install(words: Words, journal: Journal) -> None:
    """Make every function and attribute of the table answer by who asks."""
    listed = toml.beside(__file__, "results.toml")
    for name in listed["functions"]:
        wrap(name, lambda function: _by_caller(words), words, journal)
    for name in listed["attributes"]:
        _show(name, words, journal)


def _by_caller(words: Words) -> Handler:
    def call(wrapped: Callable[..., Any], instance: Any, args: Args, kwargs: Kwargs) -> Any:
        answer = wrapped(*args, **kwargs)
        return words.shown(answer) if words.views.shows_cuda(sys._getframe(1)) else answer

    return call


def _show(name: str, words: Words, journal: Journal) -> None:
    module_name, _, qualified = name.partition(":")
    path, _, attribute = qualified.rpartition(".")

    def replace(module: ModuleType) -> None:
        owner = operator.attrgetter(path)(module)
        own = inspect.getattr_static(owner, attribute, None)
        if isinstance(own, property) and own.fget is not None:
            shown: Any = own.getter(wrapt.FunctionWrapper(own.fget, _by_caller(words)))
        else:
            shown = _Shown(attribute, words)
        journal.set_attribute(owner, attribute, shown)

    on_import(module_name, replace, journal, name)


class _Shown:
    """An attribute of instances; the class's own methods read it as it is."""

    def __init__(self, name: str, words: Words) -> None:
        self._name = name
        self._words = words

    def __get__(self, instance: object, owner: type | None = None) -> Any:
        if instance is None:
            return self
        try:
            value = vars(instance)[self._name]
        except KeyError:
            raise AttributeError(self._name, name=self._name, obj=instance) from None
        return self._words.shown(value) if self._words.views.shows_cuda(sys._getframe(1)) else value

    def __set__(self, instance: object, value: object) -> None:
        vars(instance)[self._name] = value
