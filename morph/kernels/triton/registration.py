"""Registering with triton: its backend and driver of CUDA are those of the software device."""

from __future__ import annotations

import importlib
import sys
from types import ModuleType
from typing import Any

from morph.base.journal import Journal
from morph.kernels.triton.errors import UnsupportedReleaseError

OLDEST = 3, 4  # whose front end makes the IR that is lowered


def register(module: ModuleType, journal: Journal) -> None:
    """Make triton compile and launch for the software device.

    Args:
        module: triton, completely imported.
        journal: Records every change.
    """
    from triton.backends import Backend, backends
    from triton.runtime import driver

    if tuple(map(int, module.__version__.split(".")[:2])) < OLDEST:
        _refuse(module.__version__, driver, journal)
        return

    from morph.kernels.triton.compiler import HostBackend
    from morph.kernels.triton.driver import HostDriver

    journal.set_item(backends, "nvidia", Backend(compiler=HostBackend, driver=HostDriver))
    # DriverConfig keeps the driver that it has made; the next look makes one anew, by _create_driver
    journal.set_attribute(driver, "_default", None)
    journal.set_attribute(driver, "_active", None)
    if nvidia := sys.modules.get("triton.backends.nvidia.driver"):
        journal.set_attribute(nvidia, "libcuda_dirs", _folders_of_the_driver)


def _folders_of_the_driver() -> list[str]:
    """Return where libcuda.so is: the linker's cache, where triton looks, does not know it."""
    from morph.base import native
    from morph.kernels import extensions

    return [str(native.provide(extensions.library()).parent)]


def _refuse(release: str, driver: Any, journal: Journal) -> None:
    def create_driver() -> None:
        raise UnsupportedReleaseError(release)

    proxy = importlib.import_module("triton.runtime.driver").LazyProxy(create_driver)
    journal.set_attribute(driver, "default", proxy)
    journal.set_attribute(driver, "active", proxy)
