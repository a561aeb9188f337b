"""A static scan for uses of CUDA: what a program asks for, found in its source without running it.

Names are resolved as Python does it (imports and their aliases, assignments, scopes), file by file; what
a file gets from another file of the same program is found where that one asks torch for it.
"""
