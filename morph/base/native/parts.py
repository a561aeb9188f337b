"""The libraries that are built against torch: extension modules, by the folders of their sources."""

from __future__ import annotations

import pathlib
from typing import NamedTuple

from morph.base.native import compiling
from morph.base.native.library import Library, Recipe, Unit, digest, ensure_unchanged, together
from morph.base.native.target import Target

PACKAGE = pathlib.Path(__file__).parents[2]


SOON = "-O1"
# a fifth longer to compile, for steps of small operators that take one to three hundredths less
FAST = "-O3 -fno-semantic-interposition -fno-plt"


class Part(NamedTuple):
    """One of these libraries.

    Attributes:
        name: Its module's name.
        root: The folder of its sources, to which their includes are relative.
        folders: The folders below it whose files are one translation unit each, the slowest first.
        level: The compiler's options of optimization.
    """

    name: str
    root: pathlib.Path
    folders: tuple[str, ...]
    level: str = SOON

    def file(self, target: Target) -> str:
        """Return its file name, which differs for each target, source and option of the compiler."""
        identity = [self.name, *self.folders, *target.identity, *compiling.FLAGS, self.level]
        return f"{self.name}-{digest(identity, [self.root])}{target.suffix}"

    def units(self) -> tuple[Unit, ...]:
        """Return its translation units."""
        named = {folder: folder if folder != "." else self.name for folder in self.folders}
        return tuple(together(name, (self.root / folder).glob("*.cpp")) for folder, name in named.items())

    def library(self) -> Library:
        """Return the library for the installed torch."""
        place = pathlib.Path(self.file(Target.installed()))
        return Library(self.name, place, lambda: self._recipe(place))

    def _recipe(self, place: pathlib.Path) -> Recipe:
        units = self.units()
        ensure_unchanged(place, pathlib.Path(self.file(Target.installed())))
        options = compiling.options(self.name, Target.installed(), compiling.include_folders(), self.level)
        return Recipe(digest([], [self.root]), units, (*options, f"-I{self.root}"), compiling.links())


def parts(package: pathlib.Path = PACKAGE) -> dict[str, Part]:
    """Return the parts of morph's package.

    The boxed device does all that the device does, and compiles sooner; an operator takes a microsecond more.
    It serves until the device is built, in the background.

    Args:
        package: The folder of the package, or of a copy.
    """
    software = package / "software" / "native"
    boxed = ("module", "operators", "memory", "device")
    return {
        "boxed_device": Part("software_device", software, boxed),
        "device": Part("software_device", software, ("unboxed", *boxed), FAST),
        "collective": Part("software_collective", software, ("collective",)),
        "torchscript": Part("software_torchscript", software, ("torchscript",)),
        "seam": Part("seam", package / "device" / "seam", (".",)),
    }
