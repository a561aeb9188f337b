"""Registering with triton: its backend and driver of CUDA are those of the software device."""

from __future__ import annotations

from types import ModuleType

from morph.journal import Journal


def register(module: ModuleType, journal: Journal) -> None:
    """Make triton compile and launch for the software device.

    Args:
        module: triton, completely imported.
        journal: Records every change.
    """
    from triton.backends import Backend, backends
    from triton.runtime import driver

    from morph.kernels.triton.compiler import HostBackend
    from morph.kernels.triton.driver import HostDriver

    journal.set_item(backends, "nvidia", Backend(compiler=HostBackend, driver=HostDriver))
    journal.set_attribute(driver, "_default", None)
    journal.set_attribute(driver, "_active", None)
