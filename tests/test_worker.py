"""The worker in which device tests run: what it reports, and that it survives failing tests."""

import os
import signal
import time
import warnings

import pytest

from tests import platforms, worker
from tests.worker import Worker


def passing(value):
    assert value == 3


def failing(value):
    doubled = 2 * value
    assert doubled == value, "not a half"


def skipping():
    pytest.skip("not here")


def warning():
    warnings.warn("careful", UserWarning, stacklevel=1)


def dying():
    os.kill(os.getpid(), signal.SIGKILL)


def sleeping():
    time.sleep(60)


def printing_and_failing():
    print("what I saw")
    raise ValueError("no")


@pytest.fixture(scope="module")
def bare_worker(tmp_path_factory):
    running = Worker(platforms.platform("cpu", {}), tmp_path_factory.mktemp("worker") / "log", morph=False)
    yield running
    running.stop()


def test_a_function_that_returns_passes(bare_worker):
    bare_worker.call(passing, {"value": 3})
    assert bare_worker.alive


def test_a_failure_comes_with_its_traceback_and_values(bare_worker):
    with pytest.raises(pytest.fail.Exception) as failure:
        bare_worker.call(failing, {"value": 21})
    text = str(failure.value)
    assert text.startswith("on cpu: ")
    assert "assert doubled == value" in text
    assert "doubled = 42" in text
    assert text.rstrip().endswith("AssertionError: not a half")


def test_a_failure_comes_with_what_the_function_printed(bare_worker):
    with pytest.raises(pytest.fail.Exception, match="what I saw"):
        bare_worker.call(printing_and_failing, {})


def test_skipping_and_warnings_work_as_in_pytest(bare_worker):
    with pytest.raises(pytest.skip.Exception, match="not here"):
        bare_worker.call(skipping, {})
    with pytest.raises(pytest.fail.Exception, match="UserWarning: careful"):
        bare_worker.call(warning, {})


def test_a_worker_that_dies_fails_one_test_and_is_replaced(bare_worker):
    with pytest.raises(pytest.fail.Exception, match=r"the worker died \(exit status -9\)"):
        bare_worker.call(dying, {})
    bare_worker.call(passing, {"value": 3})
    assert bare_worker.alive


def test_a_worker_that_hangs_is_killed(bare_worker, monkeypatch):
    monkeypatch.setattr(worker, "TIMEOUT", 0.5)
    with pytest.raises(pytest.fail.Exception, match="no answer within 0"):
        bare_worker.call(sleeping, {})
    assert not bare_worker.alive


def test_a_failure_to_start_is_told_with_its_output(tmp_path):
    (tmp_path / "tests").mkdir()
    (tmp_path / "tests" / "__init__.py").write_text("")
    platform = platforms.platform("cpu", {"PYTHONPATH": str(tmp_path)})
    with pytest.raises(pytest.fail.Exception, match="No module named"):
        Worker(platform, tmp_path / "log", morph=False).call(passing, {"value": 3})
