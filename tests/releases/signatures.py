"""What each release of torch has: the signatures of what morph hooks, and the names of NCCL's process groups.

They are kept in ``signatures.json`` and ``nccl.json``; the latter has releases that were built for CUDA only.

python -m tests.releases.signatures              # those of the installed torch
python -m tests.releases.signatures 2.8.0 ...    # installs these releases one after the other

The second form takes 6 GB of the disk, and a Python that all of them have wheels for, such as 3.11.
"""

import argparse
import dataclasses
import importlib
import inspect
import json
import operator
import os
import pathlib
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Mapping
from typing import Any

from morph.base import toml
from tests.platforms import REPOSITORY

HERE = pathlib.Path(__file__).parent
FILE, HOOKS, ROWS = HERE / "signatures.json", HERE / "hooks.toml", REPOSITORY / "morph/device/parameters.toml"
NCCL = HERE / "nccl.json"
CLASSES = "ProcessGroupNCCL", "ProcessGroupNCCL.Options", "ProcessGroupNCCL.NCCLConfig"
COMMAND = "python -m tests.releases.signatures"
PLAIN = "attribute"  # no function, or one in C that does not tell its parameters
UNRECORDED = "unrecorded"

Releases = dict[str, "str | None"]  # by release: "(a, b)", or None where torch has nothing of that name
Classes = dict[str, list[str]]  # by class: its names that its base, which every build has, lacks


@dataclasses.dataclass(frozen=True)
class Hook:
    """What a hook needs of the parameters of a function of torch.

    Attributes:
        takes: The parameters that it names, in any order.
        first: Those that come first, in this order.
    """

    takes: tuple[str, ...] = ()
    first: tuple[str, ...] = ()

    def obstacle(self, signature: str | None) -> str | None:
        """Return why the hook does not fit a recorded signature, or None if it fits."""
        if signature is None or signature == UNRECORDED:
            return signature or "absent"
        if signature == PLAIN:
            return f"takes no {', '.join(sorted(self.takes))}" if self.takes else None
        named, positional = parameters(signature)
        missing = sorted(set(self.takes) - set(named))
        if missing:
            return f"takes no {', '.join(missing)}"
        fits = tuple(positional[: len(self.first)]) == self.first
        return None if fits else f"begins with {', '.join(positional[: len(self.first)])}"


def parameters(signature: str) -> tuple[list[str], list[str]]:
    """Return the names of all parameters but ``self``, and of those that can be given by position.

    >>> parameters("(self, a, *, b, **options)")
    (['a', 'b'], ['a'])
    """
    parts = [part for part in signature.strip("()").split(", ") if part not in ("", "/")]
    parts = parts[1:] if parts[:1] == ["self"] else parts
    starred = [place for place, part in enumerate(parts) if part.startswith("*")]
    positional = parts[: starred[0]] if starred else parts
    return [part for part in parts if not part.startswith("*")], positional


def hooks() -> dict[str, Hook]:
    """Return all hooks: the rows of ``parameters.toml``, and ``hooks.toml``."""
    rows, others = (toml.loads(path.read_text("utf-8")) for path in (ROWS, HOOKS))
    found = {name: Hook(takes=tuple(kinds)) for name, kinds in rows.items()}
    for name, row in others.items():
        found[name] = Hook(tuple(row.get("takes", ())), tuple(row.get("first", ())))
    return found


def load() -> dict[str, Releases]:
    """Return what is recorded: name to release to signature, in the order of the releases."""
    recorded = json.loads(FILE.read_text("utf-8"))
    return {name: _expand(changes, recorded["releases"]) for name, changes in recorded["signatures"].items()}


def releases() -> list[str]:
    """Return the recorded releases, the oldest first."""
    found: list[str] = json.loads(FILE.read_text("utf-8"))["releases"] if FILE.exists() else []
    return found


def save(recorded: Mapping[str, Mapping[str, str | None]], known: Iterable[str]) -> None:
    """Write the file, in which a signature stands once, with the first release that has it."""
    ordered = sorted(known, key=_age)
    rows = [
        f"  {json.dumps(name)}: {json.dumps(_compress(recorded[name], ordered))}" for name in sorted(recorded)
    ]
    text = ",\n".join(rows)
    FILE.write_text(f'{{"releases": {json.dumps(ordered)},\n"signatures": {{\n{text}\n}}}}\n', "utf-8")


def signature(name: str) -> str | None:
    """Return the signature of "module:qualified name" in the installed torch, as ``bind`` of morph sees it.

    >>> signature("json:JSONDecoder.decode")
    '(self, s, _w)'
    """
    module, _, qualified = name.partition(":")
    try:
        found = operator.attrgetter(qualified)(importlib.import_module(module))
        return _bare(inspect.signature(found))
    except ImportError as error:
        if not f"{error.name}.".startswith(f"{module.partition('.')[0]}."):
            raise  # a package that torch needs is not installed: this says nothing of torch
        return None
    except AttributeError:
        return None
    except (TypeError, ValueError):
        return PLAIN


def _bare(own: inspect.Signature) -> str:
    empty = inspect.Parameter.empty
    bare = [each.replace(annotation=empty, default=empty) for each in own.parameters.values()]
    return str(inspect.Signature(bare))


def load_nccl() -> dict[str, Classes]:
    """Return the names of NCCL's process groups, by release."""
    found: dict[str, Classes] = json.loads(NCCL.read_text("utf-8")) if NCCL.exists() else {}
    return found


def record_nccl(release: str) -> None:
    """Record the names of the installed torch, if it was built for CUDA."""
    built: Any = importlib.import_module("torch._C._distributed_c10d")
    if not hasattr(built, "ProcessGroupNCCL"):
        return
    own = operator.attrgetter(*CLASSES)(built)
    bases = built.Backend, built.Backend.Options, object
    names = {
        name: sorted(each for each in {*dir(kind)} - {*dir(base)} if not each.startswith("__"))
        for name, kind, base in zip(CLASSES, own, bases, strict=True)
    }
    recorded = {**load_nccl(), release: names}
    ordered = {each: recorded[each] for each in sorted(recorded, key=_age)}
    NCCL.write_text(json.dumps(ordered, indent=1) + "\n", "utf-8")


def _age(release: str) -> list[int]:
    return [int(part) for part in release.split(".")]


def record() -> None:
    """Record what the installed torch has."""
    import torch

    release = torch.__version__.partition("+")[0]
    recorded = load() if FILE.exists() else {}
    saved = {name: {**recorded.get(name, {}), release: signature(name)} for name in hooks()}
    save(saved, {*releases(), release})
    record_nccl(release)


def record_another(release: str) -> None:
    """Install a release of torch into an environment that lasts no longer than what is recorded."""
    with tempfile.TemporaryDirectory() as folder:
        uv = [sys.executable, "-m", "uv", "--quiet"]
        subprocess.run([*uv, "venv", "--clear", "--python", sys.executable, folder], check=True)
        python = str(pathlib.Path(folder, "bin", "python"))
        torch = [f"torch=={release}", "numpy", "setuptools"]
        subprocess.run([*uv, "pip", "install", "--python", python, *torch], check=True)
        subprocess.run([python, *COMMAND.split()[1:]], cwd=REPOSITORY, check=True)


def _expand(changes: list[tuple[str, str | None]], known: list[str]) -> Releases:
    found: Releases = {}
    current: str | None = UNRECORDED
    since = dict(changes)
    for release in known:
        current = since.get(release, current)
        found[release] = current
    return found


def _compress(own: Mapping[str, str | None], known: list[str]) -> list[tuple[str, str | None]]:
    values = [(release, own.get(release, UNRECORDED)) for release in known]
    before: list[str | None] = ["", *(value for _, value in values)]
    return [pair for pair, previous in zip(values, before, strict=False) if pair[1] != previous]


def main() -> None:
    """Record the installed torch, or the releases that are given."""
    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("releases", nargs="*", metavar="RELEASE")
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    chosen: list[str] = parser.parse_args().releases
    for release in chosen:
        record_another(release)
    if not chosen:
        record()


if __name__ == "__main__":
    main()
