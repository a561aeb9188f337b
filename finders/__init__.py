"""The meta-path finder and what it serves."""

from morph.finders.finder import finder, on_import

__all__ = ["finder", "on_import"]
