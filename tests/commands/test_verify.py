"""``morph verify`` and ``morph bench``, on real devices."""

import json
import subprocess
import sys

import pytest
import torch

from morph.base.errors import MorphError
from morph.running.commands import verify as command_of_verify
from morph.verification import Outcome, Result, checks, ensure_device, verify
from morph.verification.checks import Check
from tests.commands import screens
from tests.platforms import Platform, complete, describe


def command(platform: Platform, *words: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-W", "ignore", "-m", "morph", *words, *platform.options]
    return complete(command, env=platform.environment)


@pytest.mark.platforms("cpu", "npu", "simulated-npu", "simulated-xpu")
@pytest.mark.long_on("npu", "simulated-npu", "simulated-xpu")
def test_what_the_device_computes(platform: Platform, capsys: pytest.CaptureFixture[str]) -> None:
    done = command(platform, "verify", "--json")
    found = json.loads(done.stdout)
    assert [each for each in found if each["outcome"] != "pass"] == [], describe(done)
    assert done.returncode == 0
    command_of_verify._print([Result(**{**each, "outcome": Outcome(each["outcome"])}) for each in found])
    shown = "".join(f"{line.rstrip()}\n" for line in capsys.readouterr().out.splitlines())
    assert shown == screens.recorded("verify")
    assert len(found) == len({(each["group"], each["name"]) for each in found}) == len(list(checks()))


@pytest.mark.platforms("cpu")
def test_a_device_that_is_not_there(platform: Platform) -> None:
    done = command(platform, "verify", "--device", "cuda:7")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1] == "morph: there is no cuda:7 here; there are cuda:0 to cuda:1"
    for device in ("cuda:x", "tpu", "cpu"):
        with pytest.raises(MorphError, match=f"{device!r} is no CUDA device"):
            ensure_device(device)


def test_a_wrong_number_fails_and_an_exception_is_an_error() -> None:
    def wrong(device: str) -> None:
        torch.testing.assert_close(torch.ones(1), torch.zeros(1))

    def broken(device: str) -> None:
        raise RuntimeError("no kernel")

    assert verify(Check("group", "wrong", wrong), "cpu").outcome is Outcome.FAIL
    result = verify(Check("group", "broken", broken), "cpu")
    assert (result.outcome, result.detail) == (Outcome.ERROR, "RuntimeError: no kernel")


def test_an_operator_that_stays_on_the_cpu_fails() -> None:
    add = next(check for check in checks() if check.name == "add")
    result = verify(add, "cpu")  # morph is not active, so a tensor on the CPU is not on CUDA
    assert (result.outcome, result.detail) == (Outcome.FAIL, "the result is on cpu, not on cpu")


@pytest.mark.long
@pytest.mark.platforms("npu")
def test_calls_are_measured(platform: Platform) -> None:
    done = command(platform, "bench", "--json", "--rounds", "3")
    assert done.returncode == 0, describe(done)
    found = json.loads(done.stdout)
    assert {each["call"] for each in found} >= {"torch.device('cuda')", "there.cuda()"}
    assert all(each["cuda"] > 0 and each["own"] > 0 and each["error"] is None for each in found)
