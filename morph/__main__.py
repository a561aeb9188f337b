"""``python -m morph``."""

from morph.launcher.command import main

if __name__ == "__main__":
    main()
