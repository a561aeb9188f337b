"""Many activations, and threads that activate, import and deactivate at once."""

import os

import pytest

from tests import origin
from tests.platforms import Platform

SECONDS = "MORPH_TEST_THREADS"  # how long threads run; a minute or more is for manual runs

GROWTH = """
import gc, os, psutil, torch, morph

os.environ["MORPH_ANNOUNCED"] = "1"  # one line is enough
process = psutil.Process()

def cycles(count):
    for _ in range(count):
        morph.activate(BACKEND)
        import apex, flash_attn, pynvml
        morph.deactivate()
    for _ in range(5):  # each stops tracking one more level of tuples in tuples
        gc.collect()
    size = process.memory_info().rss
    return len(gc.get_objects()), process.num_fds(), process.num_threads(), len(os.environ), size

cycles(20)
first, second = cycles(30), cycles(250)
*growth, size = [after - before for before, after in zip(first, second, strict=True)]
print(growth, size < 1_000_000 or size)
"""
THREADS = """
import importlib, sys, threading, time, traceback
import torch, morph

morph.activate(BACKEND)  # torch.cuda is executed again, which is the main thread's to wait for
morph.deactivate()
own, until, problems = torch.cuda, time.monotonic() + SECONDS, []

def activate():
    morph.activate(BACKEND)

def ask():
    "Use a module that is served, or torch's own, or becomes the other one meanwhile, but never half of it."
    cuda = torch.cuda
    for name in ("torch.cuda.amp", "torch.cuda.memory", "torch.cuda.nvtx"):
        importlib.import_module(name)
    assert cuda.is_available() in (True, False)
    assert isinstance(cuda.Stream, type) and callable(cuda.memory_allocated) and cuda.amp.autocast

def serve():
    "Import a package that is served, or not there."
    try:
        import flash_attn
    except ModuleNotFoundError:
        return
    assert callable(flash_attn.flash_attn_func), vars(flash_attn)

def repeated(work):
    try:
        while time.monotonic() < until:
            work()
    except Exception:
        problems.append(traceback.format_exc())

works = (activate, activate, morph.deactivate, ask, ask, serve)
threads = [threading.Thread(target=repeated, args=(work,), daemon=True) for work in works]
for thread in threads:
    thread.start()
for thread in threads:
    thread.join(until - time.monotonic() + 30)
assert not any(thread.is_alive() for thread in threads), "deadlock"
assert not problems, problems[0]
morph.deactivate()
print(torch.cuda is own, sys.modules["torch.cuda"] is own, morph.status().active)
"""


@pytest.mark.long
@pytest.mark.platforms("cpu")
def test_hundreds_of_activations_leave_nothing_behind(platform: Platform) -> None:
    done = origin.run(platform, GROWTH.replace("BACKEND", '"cpu"'), timeout=400)
    assert done.stdout == "[0, 0, 0, 0] True\n"


@pytest.mark.platforms("cpu")
def test_threads_that_activate_import_and_deactivate_at_once(platform: Platform) -> None:
    seconds = os.environ.get(SECONDS, "4")
    program = THREADS.replace("BACKEND", '"cpu"').replace("SECONDS", seconds)
    done = origin.run(platform, program, timeout=float(seconds) + 120)
    assert done.stdout == "True True False\n"


@pytest.mark.platforms("cpu")
@pytest.mark.parametrize("state", ["enable", "disable"])
def test_the_garbage_collector_stays_as_it_was(platform: Platform, state: str) -> None:
    program = f"""if True:
        import gc, morph
        gc.{state}()
        try:
            morph.activate("npu", devices=0)
        except Exception:
            print(gc.isenabled())
        morph.activate()
        print(gc.isenabled())
    """
    done = platform.run(program, morph=False)
    assert done.stdout.split() == [str(state == "enable")] * 2
