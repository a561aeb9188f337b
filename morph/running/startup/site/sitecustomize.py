"""Starts morph in a Python that a program under morph started, then runs the sitecustomize that it hides.

Any Python may be started with this PYTHONPATH: another version, or another environment's.
"""

import os
import sys


def start_morph() -> None:
    """Import morph from this file's location, whatever the path has under that name, and start it."""
    root = os.path.abspath(__file__)
    for _ in ("site", "startup", "running", "morph", "sitecustomize.py"):
        root = os.path.dirname(root)
    sys.path.insert(0, root)
    try:
        import morph
    finally:
        sys.path.remove(root)
    morph.wait_for_torch(required=True)


def give_way() -> None:
    """Remove this file's folder from the path, and import the next sitecustomize, if there is one."""
    folder = os.path.dirname(os.path.abspath(__file__))
    sys.path[:] = [entry for entry in sys.path if entry != folder]
    sys.path_importer_cache.pop(folder, None)
    del sys.modules["sitecustomize"]
    import sitecustomize  # type: ignore[import-not-found]  # noqa: F401


def say(line: str) -> None:
    """Write a line to standard error, if that can be written."""
    try:
        sys.stderr.write(line)
    except Exception:
        return


if sys.version_info >= (3, 10):  # noqa: UP036  (older ones are started, too)
    try:
        start_morph()
    except Exception as error:  # Python itself must start, whatever error morph has
        say(f"morph: not active in this process: {type(error).__name__}: {error}\n")
give_way()
