"""Random kernels, compared with numpy: thirty operations each, and loops and branches that change scalars."""

import numpy as np
import pytest
import torch

from tests.kernels.triton.fuzzing.control import cases as control
from tests.kernels.triton.fuzzing.files import function_of
from tests.kernels.triton.fuzzing.numbers import difference, from_tensor
from tests.kernels.triton.fuzzing.program import COMBINERS
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


CASES = 20  # of a kernel


def stacked(arrays):
    """Return the memories of cases as one tensor on the device."""
    return torch.from_numpy(np.stack(arrays)).cuda()


@pytest.mark.long
@pytest.mark.parametrize("seed", seeds(3))
def test_random_control(seed, tmp_path):
    numbers = range(seed * CASES, (seed + 1) * CASES)
    cases, expected = zip(*(control.make(number) for number in numbers), strict=True)
    memories = [stacked(arrays) for arrays in zip(*map(control.memories, numbers), strict=True)]
    results = [stacked([np.zeros_like(each[kind]) for each in expected]) for kind in (2, 3)]
    kernel = function_of(control.kernel_of(cases, "kernel"), "kernel", tmp_path)
    # a product and a sum that are rounded once would differ
    kernel[(control.INSTANCES,)](*memories, *results, enable_fp_fusion=False)
    found = [tensor.cpu().numpy() for tensor in (*memories, *results)]
    wrong = [
        case.source
        for number, case in enumerate(cases)
        for array, right in zip(found, expected[number], strict=True)
        if not np.array_equal(array[number], right, equal_nan=array.dtype.kind == "f")
    ]
    assert not wrong, f"{len(wrong)} differ, such as\n{min(wrong, key=len)}"
