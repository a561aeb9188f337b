"""Threads that import the same module at once do not deadlock.

Python calls finders while it holds the import system's global lock. A finder that imports something
then waits forever for a thread that waits for that lock.
"""

import sys

import pytest

from tests.platforms import REPOSITORY, complete, describe

PROGRAM = """
import faulthandler, importlib, sys, threading, time
import morph

HELD = sys.argv[1]
looking, asked = threading.Event(), threading.Event()
faulthandler.dump_traceback_later(20, exit=True)

def wait_until_the_main_thread_waits():
    "Return once it is in importlib's function that takes a module's lock, or after five seconds."
    until = time.monotonic() + 5
    while time.monotonic() < until:
        if sys._current_frames()[threading.main_thread().ident].f_code.co_name == "acquire":
            return
        time.sleep(0.01)

class Path(list):
    "Finders, of which none is asked for HELD before the main thread wants it too."

    def __iter__(self):
        name = sys._getframe(1).f_locals.get("name")
        if name == HELD and threading.current_thread() is other:
            looking.set()
            asked.wait(5)
            wait_until_the_main_thread_waits()
        return super().__iter__()

def audit(event, arguments):
    if event == "import" and arguments[0] == HELD and threading.current_thread() is not other:
        asked.set()

other = threading.Thread(target=importlib.import_module, args=(HELD,))
sys.meta_path = Path(sys.meta_path)
morph.wait_for_torch()
sys.addaudithook(audit)
other.start()
looking.wait()
import packaging, pynvml
other.join()
print("imported")
"""


@pytest.mark.parametrize(
    "held",
    [
        "morph.running.startup",
        "morph.base.importing",
        "morph.running.startup.waiting",
        "tomllib",
    ],
)
def test_a_module_that_another_thread_is_importing(held: str) -> None:
    done = complete(
        [sys.executable, "-c", PROGRAM, held], env={"PYTHONPATH": str(REPOSITORY), "MORPH_BACKEND": "npu"}
    )
    assert (done.returncode, done.stdout) == (0, "imported\n"), describe(done)
