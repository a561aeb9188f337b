"""Events of vendors whose class takes ``external`` like CUDA's."""

from __future__ import annotations

from morph.software import streams
from morph.software.machine import NotSimulatedError, started


class Event(streams.Event):
    """A mark in a stream; one that is external to a graph is not simulated."""

    def __new__(
        cls,
        enable_timing: bool = False,
        blocking: bool = False,
        interprocess: bool = False,
        external: bool = False,
    ) -> Event:
        """Make an event on the current device."""
        if external:
            raise NotSimulatedError(f"{started().facts.module}.Event(external=True)")
        return super().__new__(cls, enable_timing, blocking, interprocess)  # type: ignore[return-value]
