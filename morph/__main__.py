"""``python -m morph``."""

import sys

import morph

if __name__ == "__main__":
    if not getattr(sys.flags, "safe_path", False):  # which Python 3.10 lacks
        del sys.path[0]  # the current folder, which Python put there only to find morph
    try:
        morph.ensure_python()
    except ImportError as error:
        sys.stderr.write(f"morph: {error}\n")
        sys.exit(2)
    from morph.running.launcher.command import main

    main(sys.argv[1:])
