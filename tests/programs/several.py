"""Runs programs one after the other in this process: `python several.py NAME... [-- ARGUMENT...]`."""

import importlib
import sys


def main() -> None:
    separator = sys.argv.index("--") if "--" in sys.argv else len(sys.argv)
    names, sys.argv[1:] = sys.argv[1:separator], sys.argv[separator + 1 :]
    for name in names:
        program = importlib.import_module(name)  # a program without main runs during its import
        if hasattr(program, "main"):
            program.main()


if __name__ == "__main__":  # workers of Python 3.14's loaders, which its forkserver starts, import this file
    main()
