"""Random kernels of some thirty operations each, compared with the same operations in numpy."""

import pytest

from tests.kernels.triton.fuzzing.files import function_of
from tests.kernels.triton.fuzzing.numbers import difference, from_tensor
from tests.kernels.triton.fuzzing.reductions import COMBINERS
from tests.kernels.triton.fuzzing.statements import make
from tests.seeds import seeds

pytest.importorskip("triton")


@pytest.mark.parametrize("seed", seeds(12))
def test_random_program(seed, tmp_path):
    program = make(seed)
    kernel = function_of(f"{COMBINERS}\n\n{program.source}", program.name, tmp_path)
    read, written = ([tensor.cuda() for tensor in tensors] for tensors in program.tensors())
    # a product and a sum that are rounded once would differ
    kernel[(program.instances,)](*read, *written, program.count, enable_fp_fusion=False)
    for (name, expected), tensor in zip(program.expected().items(), written, strict=True):
        wrong = difference(from_tensor(tensor), expected.array, expected.error)
        assert not wrong.any(), f"{name}: {wrong.sum()} of {wrong.size} in\n{program.source}"
