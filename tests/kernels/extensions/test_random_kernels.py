"""Random kernels in CUDA C++, which threads carry out in Python too."""

import pytest

from tests.kernels.extensions.fuzzing.kernel import Kernel, printed, source

OF_ONE_PROGRAM = 50
LONG = [pytest.param(number, marks=pytest.mark.long) for number in range(1, 11)]


@pytest.mark.parametrize("number", [0, *LONG])
def test_each_thread_stores_what_it_does_in_python(run, tmp_path, number):
    first = number * OF_ONE_PROGRAM
    kernels = {kernel.name: kernel for kernel in map(Kernel, range(first, first + OF_ONE_PROGRAM))}
    (tmp_path / "kernels.cu").write_text(source(kernels.values()))
    run("nvcc", "kernels.cu", "-o", "kernels")
    results = printed(run("./kernels").stdout)
    assert results.keys() == kernels.keys()
    for name, (said, numbers) in results.items():
        assert said == "no error", name
        assert numbers == kernels[name].numbers(), name
