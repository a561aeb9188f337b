"""Runs Python with torch_tpu alone: `python -m tests.tpu.started (-m MODULE|-c CODE|FILE)`.

It is loaded as morph loads it: by itself it refuses callers outside of torch, and prints lines.
"""

import sys

from morph.aliases.adapters.tpu import loading
from morph.base.journal import Journal
from tests.software.started import execute

if __name__ == "__main__":
    loading.load(Journal())
    execute(*sys.argv[1:])
