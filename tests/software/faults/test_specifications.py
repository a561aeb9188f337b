"""How faults are written; what cannot be meant gets one line."""

import signal
import subprocess
import sys

import pytest

from morph.base.errors import MorphError
from morph.running.launcher.command import parse
from morph.software import faults
from morph.software.injecting import Steps

WRONG = {
    "oon": "a fault must be of oom, nan, ecc, nccl-timeout, rank-exit, slow-rank, not 'oon'",
    "oom@stop=3": "there is no key 'stop': its keys are call, device, p, rank, restart, seed, step",
    "oom@op=mm": "op does not fit oom: its keys are call, device, p, rank, restart, seed, step",
    "slow-rank@call=2": "call does not fit slow-rank: its keys are ms, p, rank, restart, seed, step",
    "oom@step": "step must be a number from 1, not ''",
    "oom@step=0": "step must be a number from 1, not '0'",
    "nan@p=2": "p must be a probability from 0 to 1, not '2'",
    "rank-exit@code=256": "code must be an exit status from 0 to 255, not '256'",
    "rank-exit@signal=FOO": "signal must be a signal, such as KILL, not 'FOO'",
    "rank-exit@signal=KILL,code=2": "rank-exit@signal=KILL,code=2: code and signal exclude each other",
    "ecc@call=2,p=.5": "ecc@call=2,p=.5: call and p exclude each other",
    "ecc@seed=2": "ecc@seed=2: seed needs p",
}


def test_faults_are_read():
    first, second, third = faults.wanted("oom; nan@op=mm,step=3,restart=any ;rank-exit@signal=KILL,rank=1")
    assert (first.name, first.step, first.restart) == ("oom", None, 0)
    assert (second.op, second.step, second.restart) == ("mm", 3, None)
    assert (third.signal, third.rank) == (signal.SIGKILL, 1)


@pytest.mark.parametrize("text", WRONG)
def test_what_cannot_be_meant_is_refused(text):
    with pytest.raises(MorphError) as refused:
        faults.wanted(text, "--inject")
    assert str(refused.value).startswith(f"--inject: {WRONG[text]}")


def test_the_option_may_be_given_again():
    options, _ = parse(["--inject", "oom@step=2", "--inject=ecc", "train.py"])
    assert options.inject == "oom@step=2;ecc"
    assert options.variables()["MORPH_INJECT"] == options.inject
    assert options.words() == ["--inject=oom@step=2;ecc"]


def refusal(*words: str) -> str:
    command = [sys.executable, "-m", "morph", *words]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode != 0
    return done.stderr


def test_the_command_line_says_so_in_one_line():
    text = refusal("--inject", "oom@when=3", "-c", "print('ran')")
    assert text == f"morph: --inject: {WRONG['oom@stop=3'].replace('stop', 'when')}\n"


def test_an_operator_that_torch_lacks_is_refused():
    text = refusal("--backend=cpu", "--inject=nan@op=nonsense", "-c", "import torch")
    assert text.splitlines()[-1].endswith("nan@op=nonsense: torch has no operator aten::nonsense")


def test_other_devices_are_refused():
    text = refusal("--rehearse", "npu", "--inject", "oom", "-c", "import torch")
    words = "MORPH_INJECT: faults are injected on the software device, not on npu; say --backend cpu"
    assert text.splitlines()[0].endswith(words)


class Optimizer:
    """Stands for one of torch's."""


@pytest.mark.parametrize(
    ("order", "steps"),
    [
        ("AAA", 3),
        ("ABABAB", 3),  # two of one program
        ("AAABAAABAAAB", 9),
        ("AABBB", 5),  # the program has begun anew
        ("AABBCC", 6),
    ],
)
def test_steps_are_those_of_one_optimizer(order, steps):
    counted, optimizers = Steps(), {name: Optimizer() for name in order}
    for name in order:
        counted.begins(optimizers[name])
        counted.ends(optimizers[name])
    assert counted.now == steps + 1
