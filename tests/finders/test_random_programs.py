"""Rewritten random programs over strings end as before, and those over devices as on CUDA."""

from __future__ import annotations

import pytest

from tests.finders.random_programs import Programs, differs
from tests.finders.rewriting import is_rewritten

COUNT = 400


@pytest.mark.parametrize("with_devices", [False, True])
def test_random_programs(with_devices: bool) -> None:
    different = [seed for seed in range(COUNT) if differs(seed, with_devices=with_devices)]
    assert different == []


def test_most_programs_with_devices_are_rewritten() -> None:
    programs = [Programs(seed, with_devices=True).program() for seed in range(50)]
    assert all(is_rewritten(program) for program in programs)
