"""The meta-path finder, and the modules that it serves."""

from morph.finders.finder import finder, on_import

__all__ = ["finder", "on_import"]
