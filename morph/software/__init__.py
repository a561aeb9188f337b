"""A device that lives in host memory and answers to a vendor's name, with exactly its recorded names.

Tensors really live on it: a CPU tensor in one of its operations fails, there are two devices or more,
memory is counted and can run out. Its operators are the CPU's.
"""

from __future__ import annotations

from morph.software.machine import NotSimulatedError, SimulatorError, look_at_environment, started
from morph.software.starting import start

__all__ = ["NotSimulatedError", "SimulatorError", "look_at_environment", "start", "started"]
