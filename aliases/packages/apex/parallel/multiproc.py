"""A launcher: ``python -m apex.parallel.multiproc script.py ...`` runs a script once for each device.

Each process gets ``--world-size`` and ``--rank``; the first writes to the terminal, the others to files.
"""

from __future__ import annotations

import subprocess
import sys

import torch


def main(arguments: list[str]) -> int:
    """Run a script in ``--world-size`` processes, or in one per device.

    Args:
        arguments: The script and its arguments.

    Returns:
        The highest exit status.
    """
    size = torch.cuda.device_count()
    if "--world-size" in arguments:
        size = int(arguments[arguments.index("--world-size") + 1])
    else:
        arguments = [*arguments, "--world-size", str(size)]
    workers = [_started([*arguments, "--rank", str(rank)], rank) for rank in range(size)]
    return max(worker.wait() for worker in workers)


def _started(arguments: list[str], rank: int) -> subprocess.Popen[bytes]:
    if rank == 0:
        return subprocess.Popen([sys.executable, *arguments])
    with open(f"GPU_{rank}.log", "wb") as log:
        return subprocess.Popen([sys.executable, *arguments], stdout=log)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
