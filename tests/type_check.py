"""Runs mypy on the package as it is installed, with `finders` and `aliases` inside `morph`, and stubs.

python -m tests.type_check                  # all of morph
python -m tests.type_check tests/worker.py  # these files
"""

import pathlib
import runpy
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).parents[1]
PACKAGE = REPOSITORY / "build" / "types" / "morph"  # mypy_path in pyproject.toml


def main() -> int:
    """Runs mypy with the files of the command line, and returns its exit status."""
    lay_out()
    write_stubs()
    words = sys.argv[1:] or ["-p", "morph"]
    return subprocess.run([sys.executable, "-m", "mypy", *words], cwd=REPOSITORY, check=False).returncode


def lay_out() -> None:
    """Links what belongs to the package into one folder: mypy knows nothing of `__path__`."""
    PACKAGE.mkdir(parents=True, exist_ok=True)
    sources = {path.name: path for path in (REPOSITORY / "morph").iterdir()}
    sources |= {name: REPOSITORY / name for name in ("finders", "aliases")}
    for stale in {path.name for path in PACKAGE.iterdir()} - {*sources}:
        (PACKAGE / stale).unlink()
    for name, path in sources.items():
        if not (PACKAGE / name).is_symlink():
            (PACKAGE / name).symlink_to(path)


def write_stubs() -> None:
    """Writes the stubs of served packages, as the build does, into the checkout, where git ignores them."""
    aliases = REPOSITORY / "aliases"
    runpy.run_path(str(aliases / "stubs.py"))["write"](aliases, aliases)


if __name__ == "__main__":
    raise SystemExit(main())
