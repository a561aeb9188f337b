"""Random kernels of some thirty operations each, compared with the same operations in numpy."""

import importlib.util

import pytest

from tests.kernels.triton.fuzzing.numbers import difference, from_tensor
from tests.kernels.triton.fuzzing.reductions import COMBINERS
from tests.kernels.triton.fuzzing.statements import make

pytest.importorskip("triton")

HEADING = f"import triton\nimport triton.language as tl\n{COMBINERS}\n\n"


def function_of(program, folder):
    """Return a program's kernel; triton reads its source from a file."""
    file = folder / f"{program.name}.py"
    file.write_text(HEADING + program.source)
    specification = importlib.util.spec_from_file_location(program.name, file)
    module = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(module)
    return getattr(module, program.name)


@pytest.mark.parametrize("seed", range(12))
def test_random_program(seed, tmp_path):
    program = make(seed)
    kernel = function_of(program, tmp_path)
    read, written = ([tensor.cuda() for tensor in tensors] for tensors in program.tensors())
    # a product and a sum that are rounded once would differ
    kernel[(program.instances,)](*read, *written, program.count, enable_fp_fusion=False)
    for (name, expected), tensor in zip(program.expected().items(), written, strict=True):
        wrong = difference(from_tensor(tensor), expected.array, expected.error)
        assert not wrong.any(), f"{name}: {wrong.sum()} of {wrong.size} in\n{program.source}"
