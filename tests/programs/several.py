"""Runs the programs that its command line names, one after the other in this process."""

import importlib
import sys

names, sys.argv[1:] = sys.argv[1:], []
for name in names:
    program = importlib.import_module(name)  # which is all of it where it has no main
    if hasattr(program, "main"):
        program.main()
