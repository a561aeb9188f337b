"""A launcher: ``python -m apex.parallel.multiproc script.py ...`` runs a script once for each device.

Each process gets ``--world-size`` and ``--rank``; the first writes to the terminal, the others to files.
"""

from __future__ import annotations

import subprocess
import sys

import torch


def main(arguments: list[str]) -> int:
    """Run a script with its arguments in ``--world-size`` processes, or in one per device.

    Returns:
        The highest exit status.
    """
    if "--world-size" not in arguments:
        arguments = [*arguments, "--world-size", str(torch.cuda.device_count())]
    size = int(arguments[arguments.index("--world-size") + 1])
    workers = [_started([sys.executable, *arguments, "--rank", str(rank)], rank) for rank in range(size)]
    return max(worker.wait() for worker in workers)


def _started(command: list[str], rank: int) -> subprocess.Popen[bytes]:
    if rank == 0:
        return subprocess.Popen(command)
    with open(f"GPU_{rank}.log", "wb") as log:
        return subprocess.Popen(command, stdout=log)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
