"""Functions of served packages with the signatures of the originals, as ``surface.json`` records them.

A new release is a new recording: its parameters, their order and their defaults are written nowhere else.
"""

from __future__ import annotations

import inspect
import textwrap
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from morph.backends.tables import package

Decorator = Callable[[Callable[..., Any]], Any]


@dataclass(frozen=True)
class Recording:
    """The recorded signatures of a served package.

    Attributes:
        package: The package's import name.
        types: The annotations of parameters, by name; that of a parameter whose default is None is optional.
        meanings: What a parameter means, by name, for docstrings.
    """

    package: str
    types: Mapping[str, Any]
    meanings: Mapping[str, str]

    def signature(self, name: str) -> str:
        """Return the recorded signature of the dotted ``name``."""
        return package.load(self.package).names[name]

    def functions(self, module: str) -> Decorator:
        """Return a decorator that gives a function the recorded signature of its name in a module.

        The decorated function receives every argument by its name. What a call leaves out has its default,
        and a wrong call is the same TypeError as with the original.

        Args:
            module: The dotted name of the original's module.
        """
        return lambda body: self.written(self.signature(f"{module}.{body.__name__}"))(body)

    def initializers(self, module: str) -> Decorator:
        """Return such a decorator for the ``__init__`` of a class in ``module``, after its ``self``."""

        def decorate(body: Callable[..., Any]) -> Any:
            signature = self.signature(f"{module}.{body.__qualname__.partition('.')[0]}")
            return self.written(signature.replace("(", "(self, ", 1))(body)

        return decorate

    def written(self, signature: str) -> Decorator:
        """Return such a decorator for a signature that is given, with defaults and without annotations."""

        def decorate(body: Callable[..., Any]) -> Any:
            made = _made(body, signature)
            made.__annotations__ = {**self._annotations(made), **_returned(body)}
            made.__doc__ = self._documented(body.__doc__, made)
            return made

        return decorate

    def _annotations(self, function: Callable[..., Any]) -> dict[str, Any]:
        typed = [each for each in inspect.signature(function).parameters.values() if each.name in self.types]
        kinds = [(each.name, self.types[each.name], each.default is None) for each in typed]
        return {name: kind | None if optional else kind for name, kind, optional in kinds}

    def _documented(self, text: str | None, function: Callable[..., Any]) -> str | None:
        known = [each for each in inspect.signature(function).parameters if each in self.meanings]
        if text is None or not known:
            return text
        lines = "\n".join(
            textwrap.fill(f"{each}: {self.meanings[each]}", 100, subsequent_indent=" " * 4) for each in known
        )
        described, section, rest = inspect.cleandoc(text).partition("\n\nReturns:")
        return f"{described}\n\nArgs:\n{textwrap.indent(lines, ' ' * 4)}\n{section[1:]}{rest}"


def _returned(body: Callable[..., Any]) -> dict[str, Any]:
    return {name: kind for name, kind in body.__annotations__.items() if name == "return"}


def _made(body: Callable[..., Any], signature: str) -> Any:
    """Compile a function that passes all of its arguments to ``body``, each by its name."""
    name = body.__name__
    source = f"def make(body):\n def {name}{signature}:\n  return body({{}})\n return {name}"
    namespace, space = body.__globals__, dict[str, Any]()  # those that tracebacks and Dynamo look up by name
    exec(source.format(""), namespace, space)
    names = inspect.signature(space["make"](body)).parameters
    place, line = body.__code__.co_filename, body.__code__.co_firstlineno
    text = "\n" * (line - 2) + source.format(", ".join(f"{each}={each}" for each in names))
    exec(compile(text, place, "exec"), namespace, space)
    made = space["make"](body)
    made.__module__ = body.__module__
    made.__qualname__ = body.__qualname__
    return made
