# don't import any costly modules: every rewritten module reaches this one
"""What rewritten comparisons call: a vendor's spelling of a device, in CUDA's words."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

_COLLECTIONS = frozenset({list, tuple, set, frozenset})


def cuda_spelling(value: Any, vendor: str, cuda: str) -> Any:
    """Return ``value`` as code written for CUDA expects it in a comparison.

    Only exact built-in types are looked at, so that arrays, columns, enumerations and everything else
    with a comparison of its own is compared as it always was.

    >>> cuda_spelling("npu:1", "npu", "cuda"), cuda_spelling("/data/npu", "npu", "cuda")
    ('cuda:1', '/data/npu')

    Args:
        value: An operand that is about to be compared with a CUDA literal.
        vendor: The vendor's word, such as ``"npu"``.
        cuda: The word that the literal uses, such as ``"cuda"``.

    Returns:
        A string that spells the vendor's device, with CUDA's word in place of the vendor's; a collection
        that stands for one that holds ``cuda``, if it holds the string ``vendor``; else ``value`` itself.
    """
    kind = type(value)
    if kind is str:
        return _spelling(value, vendor, cuda) if vendor in value else value
    if kind in _COLLECTIONS and any(type(item) is str and item == vendor for item in value):
        return (cuda,)
    return value


def _spelling(value: str, vendor: str, cuda: str) -> str:
    if value == vendor or value.startswith((f"{vendor}:", f"torch.{vendor}.")):
        return value.replace(vendor, cuda, 1)
    return value
