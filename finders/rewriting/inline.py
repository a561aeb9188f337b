"""The code that replaces an operand: it gives CUDA's spelling of it, and names nothing of morph's.

It is written out where it is needed, so that a function's code is all that it takes to run it: under other
globals, or from a pickle in a process without morph.
"""

from __future__ import annotations

import ast
import enum

# only exact built-in types are looked at, so that arrays, columns, enumerations and everything else
# with a comparison of its own is compared as it always was
_ONE = (
    "lambda value: value.replace({vendor!r}, {cuda!r}, 1) if {text} and "
    "(value == {vendor!r} or value.startswith(('{vendor}:', 'torch.{vendor}.'))) else value"
)
_MANY = "lambda values: [({one})(value) for value in values] if {collection} else values"
_COLLECTIONS = "type(values) in (list, tuple, set, frozenset)"
USED = frozenset({"type", "str", "list", "tuple", "set", "frozenset"})
"""The built-in names that stand in it, unless a file has its own of one of them."""
_WITHOUT_NAMES = (
    "value.__class__ is ''.__class__",
    "values.__class__ in ([].__class__, ().__class__, {0}.__class__)",
)


class Form(enum.Enum):
    """The values that are translated: a text, or each item of a collection."""

    ONE = _ONE
    MANY = _MANY


def spelled(
    operand: ast.expr, words: list[tuple[str, str]], form: Form, *, own_names: bool = False
) -> ast.expr:
    """Return what evaluates ``operand``, once, and spells the result in CUDA's words.

    Args:
        operand: An expression of the file.
        words: The vendors' words, each with CUDA's.
        form: What to spell.
        own_names: Whether the file has names of its own that Python's built-in ones are hidden by.
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
