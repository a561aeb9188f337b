# don't import any costly modules: a start-up file reaches this one
"""The interpreter's own ``compile``, saved before it is replaced."""

from __future__ import annotations

import builtins

own_compile = builtins.compile
