"""Random loops and branches whose scalars, pointers and tensors change, compared with Python."""

import numpy as np
import pytest
import torch

from tests.kernels.triton.fuzzing.control import cases as control
from tests.kernels.triton.fuzzing.files import function_of
from tests.seeds import seeds

pytest.importorskip("triton")

CASES = 20  # of a kernel


def stacked(arrays):
    """Return the memories of cases as one tensor on the device."""
    return torch.from_numpy(np.stack(arrays)).cuda()


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
