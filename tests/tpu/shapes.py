"""Computes with one shape, then with another one each time; the second is told of its compilations."""

import time

import torch
from torch_tpu._internal.device import _device_ops_backend as vendors

from morph.aliases.adapters.tpu import watching


def compute(shape_of):
    compiling = watching.compiling(vendors._get_cache_misses)
    watcher = watching.Watcher([compiling], warm=0.5, window=3, interval=0.1)
    watcher.start()
    begun = time.monotonic()
    for step in range(1, 1_000_000):
        (torch.ones(shape_of(step), device="cuda") * 2).sum().item()  # here
        if time.monotonic() - begun > 5:
            break
    watcher.stop()


compute(lambda step: 7)
print("of one shape", flush=True)
compute(lambda step: step)
