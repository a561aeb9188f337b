"""``python -m morph``."""

import sys

if __name__ == "__main__":
    if not getattr(sys.flags, "safe_path", False):  # which Python 3.10 lacks
        del sys.path[0]  # the current folder, which Python put there only to find morph
    from morph.launcher.command import main

    main(sys.argv[1:])
