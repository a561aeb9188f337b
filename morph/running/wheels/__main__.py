"""``python -m morph.running.wheels``: make wheels that hold morph's C++ parts, for each supported torch.

``python -m build --wheel`` makes the wheel of Python files that this command starts from.
"""

from __future__ import annotations

import argparse
import pathlib
import platform
import sys
import tempfile
from collections.abc import Iterator

import platformdirs
from rich.console import Console

from morph.base import toml
from morph.base.errors import MorphError
from morph.base.native.parts import parts
from morph.running.wheels import headers, packing, serving
from morph.running.wheels.building import Builder, Library, WheelError

RELEASES = pathlib.Path(__file__).parent / "releases.toml"


def main(arguments: list[str] | None = None) -> int:
    """Run the command line, and return its exit status."""
    options = _parser().parse_args(arguments)
    console = Console(stderr=True, highlight=False)
    try:
        for wheel in _wheels(options, console):
            print(wheel)
    except MorphError as error:
        console.print(f"morph: {error}", style="red", markup=False, soft_wrap=True)
        return 1
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        "python -m morph.running.wheels", description="Add morph's compiled C++ parts to a wheel of morph."
    )
    add = parser.add_argument
    add("wheel", type=pathlib.Path, help="the wheel of Python files, made by python -m build --wheel")
    add("--python", action="append", metavar="PATH", help="a Python to build for; may be repeated")
    add("--torch", action="append", metavar="RELEASE", help="a release of torch; may be repeated")
    add("--machine", choices=["x86_64", "aarch64"], default=platform.machine(), help="this one by default")
    add("--out", type=pathlib.Path, default=pathlib.Path("dist"), help="the folder for the wheels (dist)")
    work = platformdirs.user_cache_path("morph") / "wheels"
    add("--work", type=pathlib.Path, default=work, help=f"keeps torch's headers and objects ({work})")
    return parser


def _wheels(options: argparse.Namespace, console: Console) -> Iterator[pathlib.Path]:
    pythons = [headers.of_python(path) for path in options.python or [sys.executable]]
    releases = _releases(options.torch)
    options.work.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        package = packing.unpack(options.wheel, pathlib.Path(scratch, "sources")) / "morph"
        built: dict[str, list[Library]] = {python.version: [] for python in pythons}
        for release, supported in releases.items():
            for python in pythons:
                if python.version in supported:
                    console.print(f"torch {release}, Python {python.version}, {options.machine}")
                    built[python.version] += _libraries(release, python, package, options)
        console.print(f"CUDA's libraries, {options.machine}")
        shared = serving.build(options.machine, options.work)
        for python in pythons:
            unpacked = packing.unpack(options.wheel, pathlib.Path(scratch, python.tag))
            libraries = [*built[python.version], *shared]
            yield packing.pack(unpacked, libraries, python, options.machine, options.out)


def _libraries(
    release: str, python: headers.Python, package: pathlib.Path, options: argparse.Namespace
) -> list[Library]:
    torch = headers.of_torch(release, options.machine, python.version, options.work)
    builder = Builder(torch, options.machine, options.work)
    return [builder.build(part, python) for name, part in parts(package).items() if name != "boxed_device"]


def _releases(chosen: list[str] | None) -> dict[str, list[str]]:
    known: dict[str, list[str]] = toml.loads(RELEASES.read_text())["torch"]
    if unknown := [release for release in chosen or [] if release not in known]:
        raise WheelError(f"releases.toml has no torch {', '.join(unknown)}; it has {', '.join(known)}")
    return {release: known[release] for release in chosen or known}


if __name__ == "__main__":
    raise SystemExit(main())
