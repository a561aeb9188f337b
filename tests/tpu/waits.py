"""Multiplies without asking for a number, then asks for one in each step; the second is told of it."""

import time

import torch

from morph.aliases.adapters.tpu import watching
from morph.device.seam.native import NativeSeam

habits = [watching.waiting(NativeSeam().waits)]
x = torch.ones(600, 600, device="cuda") / 600
assert x[0].sum().item() > 0.9


def compute(step):
    watcher = watching.Watcher(habits, warm=0.5, window=3, interval=0.1)
    watcher.start()
    begun = time.monotonic()
    while time.monotonic() - begun < 5:
        step((x @ x).sum())
    watcher.stop()


def wait(loss):
    assert 599 < loss.item() < 601  # here


compute(lambda loss: torch.cuda.synchronize())
print("without a number", flush=True)
compute(wait)
