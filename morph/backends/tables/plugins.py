"""Backends from other distributions, by the entry-point group ``morph.backends``.

The entry point has the name of its backend, ``madeup = "morph_madeup"``; the package contains
``madeup.toml``, the recorded surface that this names, and the modules of its adapters. It needs no other
Python code.
"""

from __future__ import annotations

import functools
import importlib.metadata  # which torch imports too; importlib_metadata takes 15 ms more
import importlib.resources
from collections.abc import Mapping
from typing import TYPE_CHECKING, NamedTuple

from morph.base.errors import PluginError

if TYPE_CHECKING:
    from importlib.abc import Traversable

GROUP = "morph.backends"


class Plugin(NamedTuple):
    """A backend from an installed distribution.

    Attributes:
        name: The backend's name, ``"madeup"``.
        package: The import name of the package that holds its table.
        distribution: The distribution, ``"morph-madeup 1.0"``.
    """

    name: str
    package: str
    distribution: str

    def folder(self) -> Traversable:
        """Import the package and return its folder.

        Raises:
            PluginError: If it cannot be imported.
        """
        try:
            return importlib.resources.files(self.package)
        except Exception as error:  # it may raise anything, and `import torch` must survive it
            problem = str(error).strip().partition("\n")[0]
            raise self.broken(f"{self.package} fails to load: {type(error).__name__}: {problem}") from None

    def broken(self, reason: str) -> PluginError:
        """Return the error for this backend, with the reason why it cannot be used."""
        return PluginError(self.name, self.distribution, reason)


@functools.cache
def installed() -> Mapping[str, Plugin]:
    """Return the backends of installed distributions by name; of duplicates, the first on the path."""
    found: dict[str, Plugin] = {}
    for point in importlib.metadata.entry_points(group=GROUP):
        whose = f"{point.dist.name} {point.dist.version}" if point.dist else "an unknown distribution"
        found.setdefault(point.name, Plugin(point.name, point.module, whose))
    return found
