"""torch's operator database: results, gradients, in-place and out= variants equal those of the CPU.

These are a few samples of every eighth operator in single precision; ``operator_database`` compares all.
"""

import pytest
import torch

EVERY = 8
# CUDA refuses these, the device does not yet
SERVED = {"norm", "norm.inf", "torch._scaled_mm", "torch._scaled_mm_v2"}
GROUPS = 16


@pytest.mark.parametrize("group", range(GROUPS))
def test_operators_are_the_cpus(group):
    pytest.importorskip("expecttest", reason="torch's own tests need it")
    from tests.software.cuda import operator_database as database

    different = []
    for name in sorted(database.OPERATORS)[::EVERY][group::GROUPS]:
        if torch.float32 in database.dtypes(name):
            different += database.compare(name, torch.float32, 3).differences
    assert not different, "\n".join(different)


def test_what_only_the_cpu_computes_is_refused():
    pytest.importorskip("expecttest", reason="torch's own tests need it")
    from tests.software.cuda import operator_database as database

    pairs = [(name, dtype) for name in database.OPERATORS for dtype in database.refused(name)]
    served = {(name, dtype) for name, dtype in pairs if not database.is_refused(name, dtype)}
    print(len(pairs) - len(served), "of", len(pairs))
    assert {name for name, _ in served} == SERVED
    assert len(pairs) > 130


def test_what_only_cuda_computes_is_computed():
    pytest.importorskip("expecttest", reason="torch's own tests need it")
    from tests.software.cuda import operator_database as database

    pairs = [(name, dtype) for name in database.OPERATORS for dtype in database.only_cuda(name)]
    unserved = {name: why for name, dtype in pairs if (why := database.unserved(name, dtype))}
    assert not unserved, unserved
    assert len(pairs) > 90
