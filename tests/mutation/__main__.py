"""Runs mutants of the named files and folders: `python -m tests.mutation finders/packages --sample 40`."""

import argparse
import sys
import time

from morph.base import toml
from tests.mutation.mutants import Mutant, files, sample
from tests.mutation.running import Copy, copy
from tests.platforms import REPOSITORY

_FOLDER = REPOSITORY / "tests" / "mutation"


def main() -> int:
    """Print the survivors and the share of killed mutants; the exit status is 1 if there are survivors."""
    options = _options()
    start = time.monotonic()
    mutants = sample(options.paths, options.sample, options.seed)
    equivalent = [mutant for mutant in mutants if mutant.key in _equivalent()]
    counted = [mutant for mutant in mutants if mutant not in equivalent]
    with copy() as where:
        survivors = [mutant for mutant in counted if not _is_killed(where, mutant, options.verbose)]
    print(_figures(options, len(counted), len(survivors), len(equivalent)), end=", ")
    print(f"{(time.monotonic() - start) / 60:.0f} minutes")
    return 1 if survivors else 0


def near(file: str) -> tuple[str, ...]:
    """Return the tests near a file, found by its longest prefix in `near.toml`."""
    folders = toml.loads((_FOLDER / "near.toml").read_text())
    prefixes = [name for name in folders if f"{file}/".startswith(f"{name}/")]
    if not prefixes:
        raise SystemExit(f"tests/mutation/near.toml says of no tests that they are near {file}")
    return tuple(folders[max(prefixes, key=len)])


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m tests.mutation", description=__doc__)
    parser.add_argument("paths", nargs="+", help="modules, tables or folders, from the repository's root")
    parser.add_argument("--sample", type=int, default=20, help="how many mutants; 0 for one of each place")
    parser.add_argument("--seed", type=int, default=1, help="another seed makes another choice")
    parser.add_argument("--verbose", action="store_true", help="print the killed ones too")
    options = parser.parse_args()
    options.paths = [path.rstrip("/") for path in options.paths]
    for path in options.paths:
        if not files(path):
            parser.error(f"no module or table at {path}")
    return options


def _figures(options: argparse.Namespace, counted: int, survivors: int, equivalent: int) -> str:
    killed = counted - survivors
    share = f"{100 * killed / counted:.0f} %" if counted else "none"
    said = f"{' '.join(options.paths)}: killed {killed} of {counted} ({share}), seed {options.seed}"
    return f"{said}, {equivalent} listed as equivalent"


def _equivalent() -> set[tuple[str, str, str]]:
    listed = toml.loads((_FOLDER / "equivalent.toml").read_text()).get("mutant", [])
    return {(each["file"], each["before"], each["after"]) for each in listed}


def _is_killed(where: Copy, mutant: Mutant, verbose: bool) -> bool:
    killed = where.kills(mutant, near(mutant.file))
    if verbose or not killed:
        print(f"{'killed  ' if killed else 'SURVIVED'} {mutant.file}:{mutant.line}")
        print(f"    {mutant.before}\n    {mutant.after}", flush=True)
    return killed


if __name__ == "__main__":
    sys.exit(main())
