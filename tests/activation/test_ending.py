"""A process that ends waits for threads that Python did not start."""

import pytest

from tests.platforms import Platform

CALLED_BACK = """
import ctypes, threading, time, torch

begun = threading.Event()

@ctypes.CFUNCTYPE(ctypes.c_void_p, ctypes.c_void_p)
def work(_):
    begun.set()
    time.sleep(0.5)
    print("done", flush=True)

thread = ctypes.c_ulong()
ctypes.CDLL(None).pthread_create(ctypes.byref(thread), None, work, None)
begun.wait()
"""
ENDLESS = CALLED_BACK.replace("0.5", "60").replace('print("done", flush=True)', "")


@pytest.mark.platforms("cpu")
def test_a_thread_in_a_function_of_pythons_is_waited_for(platform: Platform) -> None:
    assert platform.run(CALLED_BACK).stdout == "done\n"


@pytest.mark.platforms("cpu")
def test_a_thread_that_goes_on_does_not_keep_the_process(platform: Platform) -> None:
    done = platform.run(ENDLESS, timeout=50)  # the thread would run for a minute
    assert (done.returncode, done.stdout) == (0, "")
