"""The code that replaces an operand: it translates its value to CUDA's spelling without names from morph.

It is inlined at each operand, so that a function's code runs on its own: under other globals, or from a
pickle in a process without morph.
"""

from __future__ import annotations

import ast
import enum

# only exact built-in types are translated, so that arrays, columns, enumerations and all other types
# with their own comparison are compared as before
_ONE = (
    "lambda value: value.replace({vendor!r}, {cuda!r}, 1) if {text} and "
    "(value == {vendor!r} or value.startswith(('{vendor}:', 'torch.{vendor}.'))) else value"
)
_MANY = "lambda values: [({one})(value) for value in values] if {collection} else values"
_COLLECTIONS = "type(values) in (list, tuple, set, frozenset)"
USED = frozenset({"type", "str", "list", "tuple", "set", "frozenset"})
"""The built-in names that the code uses, unless the file binds one of them itself."""
_WITHOUT_NAMES = (
    "value.__class__ is ''.__class__",
    "values.__class__ in ([].__class__, ().__class__, {0}.__class__)",
)


class Form(enum.Enum):
    """The values to translate: a text, or each item of a collection."""

    ONE = _ONE
    MANY = _MANY


def spelled(
    operand: ast.expr, words: list[tuple[str, str]], form: Form, *, own_names: bool = False
) -> ast.expr:
    """Return an expression that evaluates ``operand`` once and translates the result to CUDA's spelling.

    Args:
        operand: An expression of the file.
        words: The vendors' words, each with CUDA's.
        form: The values to translate.
        own_names: Whether the file binds names that hide Python's built-in ones.
    """
    for vendor, cuda in words:
        call = ast.Call(_function(vendor, cuda, form, own_names=own_names), [operand], [])
        for new in [call, *ast.walk(call.func)]:
            if "lineno" in new._attributes:
                ast.copy_location(new, operand)
        operand = call
    return operand


def _function(vendor: str, cuda: str, form: Form, *, own_names: bool) -> ast.expr:
    text, collection = _WITHOUT_NAMES if own_names else ("type(value) is str", _COLLECTIONS)
    one = _ONE.format(vendor=vendor, cuda=cuda, text=text)
    source = one if form is Form.ONE else _MANY.format(one=one, collection=collection)
    return ast.parse(source, mode="eval").body
