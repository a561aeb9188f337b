"""``python -m morph``."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        del sys.path[0]  # the current folder, which Python put there only to find morph
    from morph.launcher.command import main

    main(sys.argv[1:])
