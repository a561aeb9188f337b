"""torch's operator database on torch_tpu: results and gradients are the CPU's, but for what a table lists."""

import json
import pathlib

import pytest
import torch

from morph.base import toml
from tests.platforms import Platform, complete, describe

pytestmark = pytest.mark.long

TABLE = pathlib.Path(__file__).with_name("operators.toml")
RELEASE = "2.13"
EVERY = "8"
DTYPES = ("float32", "bfloat16", "int64", "bool", "complex64")


def test_operators_are_the_cpus(tpu: Platform) -> None:
    if not torch.__version__.startswith(RELEASE):
        pytest.skip(f"the table lists a sample of torch {RELEASE}'s database")
    pytest.importorskip("expecttest", reason="torch's own tests need it")
    command = [*tpu.command(morph=True), "-m", "tests.tpu.operators", EVERY, *DTYPES]
    done = complete(command, env=tpu.environment, timeout=600)
    assert done.returncode == 0, describe(done)
    outcomes = [json.loads(line) for line in done.stdout.splitlines()]
    seen = {f"{name} {dtype.removeprefix('torch.')}": lines for name, dtype, *lines in outcomes}
    reasons: dict[str, list[str]] = toml.loads(TABLE.read_text(encoding="utf-8"))
    listed = {name for names in reasons.values() for name in names}
    assert {name: lines for name, lines in seen.items() if bool(lines) != (name in listed)} == {}
    assert len(seen) > 290
