"""Rehearses a program on the simulated device: records its CUDA names, and judges whether it would run.

The first process sets a folder in the environment, in which each process of the program keeps a record; at
the end all records are read.
"""

from __future__ import annotations

from morph.evidence.rehearsal.findings import Finding, Result, Verdict, result
from morph.evidence.rehearsal.recording import Ending, Rehearsal, Use, ending, records

__all__ = [
    "Ending",
    "Finding",
    "Rehearsal",
    "Result",
    "Use",
    "Verdict",
    "ending",
    "records",
    "result",
]
