"""Kernels in CUDA C++ against loops of C++ with OpenMP: `python -m benchmarks.cuda_kernels`."""

from __future__ import annotations

import os
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).with_suffix(".cu")
OPTIONS = ("-O3", "-Xcompiler", "-fopenmp", "-Xcompiler", "-march=native")


def main() -> None:
    """Print a table for one thread of the host, and one for all of them."""
    home = subprocess.run(
        [sys.executable, "-m", "morph", "toolkit"], stdout=subprocess.PIPE, text=True, check=True
    ).stdout.strip()
    environment = {**os.environ, "MORPH_BACKEND": "cpu"}
    with tempfile.TemporaryDirectory() as folder:
        program = f"{folder}/kernels"
        subprocess.run(
            [f"{home}/bin/nvcc", *OPTIONS, str(SOURCE), "-o", program], env=environment, check=True
        )
        for threads in dict.fromkeys((1, os.cpu_count() or 1)):
            print(f"threads of the host: {threads}\n{'':22}     kernel        loop")
            subprocess.run([program], env={**environment, "OMP_NUM_THREADS": str(threads)}, check=True)


if __name__ == "__main__":
    main()
