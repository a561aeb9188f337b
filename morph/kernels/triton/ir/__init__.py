"""Triton's IR (TTIR): its types and operations, and the parser of its text."""
