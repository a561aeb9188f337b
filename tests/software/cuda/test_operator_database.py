"""torch's operator database: results, gradients, strides, in-place and out= variants equal those of the CPU.

``MORPH_TEST_OPERATORS=all`` compares all operators and dtypes, which takes long; the default is a few samples
of every eighth operator in single precision.
"""

import os

import pytest
import torch

EVERY = 8
ALL = os.environ.get("MORPH_TEST_OPERATORS") == "all"
GROUPS = 16


@pytest.mark.parametrize("group", range(GROUPS))
def test_operators_are_the_cpus(group):
    pytest.importorskip("expecttest", reason="torch's own tests need it")
    from tests.software.cuda import operator_database as database

    names = sorted(database.OPERATORS)[:: 1 if ALL else EVERY][group::GROUPS]
    different = []
    for name in names:
        for dtype in database.dtypes(name) if ALL else [torch.float32]:
            if dtype in database.dtypes(name):
                different += database.compare(name, dtype, None if ALL else 3).differences
    assert not different, "\n".join(different)
