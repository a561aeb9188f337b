"""A static scan for uses of CUDA in a program's source, without running it.

Names are resolved as in Python (imports and their aliases, assignments, scopes), file by file; a name that
a file imports from another file of the same program is found in that other file.
"""
