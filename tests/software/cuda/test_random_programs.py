"""Random programs agree with a model of CUDA in values, layouts, devices, aliases, identities and errors.

``MORPH_TEST_PROGRAMS=20000`` runs more of them.
"""

import os

import pytest

from tests.software.random_programs import comparison

IN_A_TEST = 100
COUNT = int(os.environ.get("MORPH_TEST_PROGRAMS", "500"))


@pytest.mark.parametrize("first", range(0, COUNT, IN_A_TEST))
def test_programs_end_as_by_the_model(first):
    different = [line for seed in range(first, first + IN_A_TEST) for line in comparison.differences(seed)]
    assert not different, "\n".join(different)
