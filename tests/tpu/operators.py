"""Compares torch's operator database with the CPU's results and gradients: every N-th operator of each dtype.

`python -m morph --backend tpu -m tests.tpu.operators 16 bfloat16` prints each, and its first difference.
"""

import json
import sys

import torch

from tests.software.cuda import operator_database as database

ENDS_THE_PROCESS = {"masked_scatter"}  # in XLA's compiler for the CPU


def main(every: str, *dtypes: str) -> None:
    """Prints one line of JSON for each operator and dtype: its name, and the first difference or nothing."""
    for dtype in (getattr(torch, name) for name in dtypes):
        names = [name for name in sorted(database.OPERATORS) if dtype in database.dtypes(name)]
        for name in names[:: int(every)]:
            if name not in ENDS_THE_PROCESS:
                tally = database.compare(name, dtype, 1)
                print(json.dumps([name, str(dtype), *tally.differences[:1]]), flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
