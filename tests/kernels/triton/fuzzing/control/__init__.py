"""Random loops and branches: functions of scalars, tensors and pointers that change, in Triton and in Python.

The text of a case is one for both. ``$3`` is the literal 3 in Triton, where it may be a constant of the
compiler, and a number of 32 bits in Python.
"""
