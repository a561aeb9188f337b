"""The names of NCCL's process groups, kept in ``nccl.json`` for each release of torch built for CUDA.

python -m tests.releases.nccl              # those of the installed torch
python -m tests.releases.nccl 2.8.0 ...    # installs these releases one after the other
"""

from __future__ import annotations

import argparse
import json
import os
import pathlib
from typing import Any

FILE = pathlib.Path(__file__).with_name("nccl.json")
COMMAND = "python -m tests.releases.nccl"
CLASSES = "ProcessGroupNCCL", "ProcessGroupNCCL.Options", "ProcessGroupNCCL.NCCLConfig"

Classes = dict[str, list[str]]  # by class: its names that its base, which every build has, lacks


def load() -> dict[str, Classes]:
    """Return what is recorded, by release."""
    found: dict[str, Classes] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {}
    return found


def names() -> Classes:
    """Return the names of the installed torch."""
    from torch._C._distributed_c10d import Backend, ProcessGroupNCCL

    bases: list[Any] = [Backend, Backend.Options, object]
    classes: list[Any] = [ProcessGroupNCCL, ProcessGroupNCCL.Options, ProcessGroupNCCL.NCCLConfig]
    return {
        name: sorted(each for each in set(dir(own)) - set(dir(base)) if not each.startswith("__"))
        for name, own, base in zip(CLASSES, classes, bases, strict=True)
    }


def record() -> None:
    """Record the names of the installed torch, which was built for CUDA."""
    import torch

    recorded = {**load(), torch.__version__.partition("+")[0]: names()}
    ordered = sorted(recorded, key=lambda release: [int(part) for part in release.split(".")])
    FILE.write_text(json.dumps({each: recorded[each] for each in ordered}, indent=1) + "\n", "utf-8")


def main() -> None:
    """Record the installed torch, or the releases that are given."""
    from tests.releases.signatures import record_another

    parser = argparse.ArgumentParser(prog=COMMAND, description=__doc__)
    parser.add_argument("releases", nargs="*", metavar="RELEASE")
    os.environ["TORCH_DEVICE_BACKEND_AUTOLOAD"] = "0"
    chosen: list[str] = parser.parse_args().releases
    for release in chosen:
        record_another(release, "tests.releases.nccl")
    if not chosen:
        record()


if __name__ == "__main__":
    main()
