"""Ported programs run without morph and give the same numbers as their hand-ported twins on the device."""

import json
import pathlib

import pytest

from morph.source.port.porting import port
from tests.platforms import REPOSITORY, Platform

PROGRAMS = REPOSITORY / "tests" / "programs"
# the program that chooses devices before it imports torch comes first
ARGUMENTS = {
    "agent": [],
    "digits": ["--epochs", "1"],
    "characters": ["--iters", "12", "--compile", "eager"],
    "gan": [],
    "prefetch": [],
}
# these assert that there is a GPU, and once ported that there is an accelerator
DEMANDING = {"digits": "this program needs a GPU", "gan": ""}
IN_BFLOAT16 = "torch.autocast(args.device, dtype=torch.bfloat16)"
RUN_EACH = """
import contextlib, io, json, runpy, sys
numbers = []
for script, arguments in json.loads(sys.argv[1]):
    sys.argv, output = [script, *arguments], io.StringIO()
    with contextlib.redirect_stdout(output):
        runpy.run_path(script, run_name="__main__")
    numbers.append([line for line in output.getvalue().splitlines() if line.startswith("{")][-1])
assert not [name for name in sys.modules if name.partition(".")[0] == "morph"]
print("[" + ", ".join(numbers) + "]")
"""


@pytest.mark.long
@pytest.mark.platforms("cpu", "npu")
def test_numbers_are_those_of_the_hand_ported_programs(platform: Platform, tmp_path: pathlib.Path) -> None:
    runs = []
    left_out = DEMANDING if platform.backend == "cpu" else ()
    programs = {name: ARGUMENTS[name] for name in ARGUMENTS if name not in left_out}
    for name, arguments in programs.items():
        ours, twin = tmp_path / f"{name}.py", tmp_path / f"{name}_by_hand.py"
        ours.write_bytes(port(PROGRAMS / f"{name}.py").after)
        twin.write_text(_by_hand(name, platform))
        runs += [(str(ours), arguments), (str(twin), [*arguments, "--device", platform.backend])]
    # one thread, so that a sum has one order however it is written
    done = platform.run(
        RUN_EACH, json.dumps(runs), morph=False, environment={"OMP_NUM_THREADS": "1"}, cwd=tmp_path
    )
    results = json.loads(done.stdout.splitlines()[-1])
    for name, ported, by_hand in zip(programs, results[::2], results[1::2], strict=True):
        assert ported == pytest.approx(by_hand, rel=1e-4), name
        assert ported.get("accuracy", 100) > 50, name


@pytest.mark.platforms("cpu")
@pytest.mark.parametrize("name", DEMANDING)
def test_demands_for_a_gpu_become_demands_for_an_accelerator(
    name: str, platform: Platform, tmp_path: pathlib.Path
) -> None:
    (tmp_path / "program.py").write_bytes(port(PROGRAMS / f"{name}.py").after)
    done = platform.run(tmp_path / "program.py", morph=False, check=False)
    assert done.returncode == 1
    assert done.stderr.rstrip().endswith(f"AssertionError: {DEMANDING[name]}".removesuffix(": "))


def test_what_cannot_be_ported_is_listed() -> None:
    """Of the other programs, only a scripted model is left: it cannot read the module's device."""
    left = port(PROGRAMS / "serve.py").left
    assert [each.name for each in left if not each.is_ported] == ["torch.jit.script"]
    for name in ("custom", "ddp", "fsdp", "parallel"):
        assert not port(PROGRAMS / f"{name}.py").left, name


def _by_hand(name: str, platform: Platform) -> str:
    """Returns a hand-ported program; where there is no accelerator the original computes in float32."""
    text = (PROGRAMS / "ported" / f"{name}.py").read_text(encoding="utf-8")
    if name == "characters" and platform.backend == "cpu":
        assert IN_BFLOAT16 in text
        return text.replace(IN_BFLOAT16, "torch.autocast(args.device, enabled=False)")
    return text
