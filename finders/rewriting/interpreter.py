# don't import any costly modules: a start-up file reaches this one
"""The interpreter's own ``compile``, as it is before comparisons are rewritten."""

from __future__ import annotations

import builtins

own_compile = builtins.compile
