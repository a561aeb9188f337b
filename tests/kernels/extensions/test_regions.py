"""Kernels whose threads are loops between barriers, against the same kernels as threads that wait."""

import pathlib
import re

import pytest

from tests.kernels.extensions.fuzzing.regions import Kernel, source

PROGRAMS = pathlib.Path(__file__).parent / "programs"
AS_LOOPS = {
    *("casts", "changes_before_a_barrier", "changes_its_arguments", "counts", "divides", "draws"),
    *("ends_early", "in_three_directions", "keeps_an_array", "named", "of_a_template", "other"),
    *("reads_what_changes", "reinterprets", "reinterprets_an_argument", "scales", "under_a_condition"),
    *("with_dynamic_memory", "wraps_around"),
}
TRAPS_AS_LOOPS = {
    *("allocates", "changes_an_argument_in_a_member", "changes_by_a_cast", "changes_by_a_macro"),
    *("changes_its_own_by_a_cast", "has_wide_places", "reads_a_member", "reads_after_a_cast"),
    *(
        "reads_the_second_of_two",
        "reads_what_is_aligned",
        "scales_a_place",
        "shares_a_struct",
        "with_the_word_struct",
    ),
}


@pytest.fixture
def build(run, tmp_path):
    def build(name, *options):
        run("nvcc", *options, str(PROGRAMS / f"{name}.cu"), "-o", name)
        symbols = run("nm", "-C", name).stdout
        return set(re.findall(r"(\w+)_morph_regions", symbols))

    return build


@pytest.mark.parametrize(
    "level", ["-O2", *(pytest.param(level, marks=pytest.mark.long) for level in ("-O0", "-O3"))]
)
def test_loops_make_what_threads_make_that_wait(build, run, level):
    assert build("regions", level) == AS_LOOPS
    by_loops = run("./regions").stdout
    assert len(by_loops.splitlines()) == 29
    assert all(" no error " in line for line in by_loops.splitlines())
    assert run("./regions", MORPH_SHUFFLE="5").stdout == by_loops


def test_traps_are_refused_or_avoided(build, run):
    assert build("traps") == TRAPS_AS_LOOPS
    by_loops = run("./traps").stdout
    assert len(by_loops.splitlines()) == 48
    assert all(" no error " in line for line in by_loops.splitlines())
    assert run("./traps", MORPH_SHUFFLE="5").stdout.splitlines() == by_loops.splitlines()


def test_the_address_of_an_own_variable_is_refused_after_a_barrier(build, run):
    assert build("held") == {"changes_what_is_held"}
    refused = run("./held")
    assert refused.stdout == "unspecified launch failure 0\n"
    assert "keeps the address of a thread's own variable over a barrier" in refused.stderr
    assert run("./held", MORPH_SHUFFLE="1").stdout == "no error 63\n"


@pytest.mark.parametrize(
    ("first", "last"),
    [(0, 10), *(pytest.param(at, at + 50, marks=pytest.mark.long) for at in range(50, 1050, 50))],
)
def test_loops_of_random_kernels_make_what_threads_make_that_wait(run, tmp_path, first, last):
    (tmp_path / "kernels.cu").write_text(source(map(Kernel, range(first, last))))
    run("nvcc", "-O0", "-Xcompiler", "-fwrapv", "kernels.cu", "-o", "kernels")
    as_loops = set(re.findall(r"\b(kernel_\d+)_morph_regions", run("nm", "-C", "kernels").stdout))
    assert len(as_loops) >= (last - first) // 10  # 16 to 80 %
    by_loops = run("./kernels").stdout
    assert by_loops.count(" no error ") == last - first
    assert run("./kernels", MORPH_SHUFFLE="5").stdout.splitlines() == by_loops.splitlines()


@pytest.mark.parametrize("options", [(), ("-DOPERATOR",)])
def test_a_kernel_that_waits_in_what_it_calls_has_no_loops(build, run, options):
    assert not build("waiting", *options)
    error, numbers = run("./waiting").stdout.splitlines()
    assert error == "no error"
    assert list(map(int, numbers.split())) == [(i + 1) % 64 + 63 - i for i in range(64)]


def test_an_illegal_address_is_told_with_its_line(run, tmp_path):
    text = """#include <cstdio>
__global__ void kernel(int* x) {
  int t = threadIdx.x;
  __syncthreads();
  x[t] = 1;
}
int main() {
  kernel<<<1, 1>>>((int*)8);
  printf("%d", cudaDeviceSynchronize());
}
"""
    (tmp_path / "illegal.cu").write_text(text)
    run("nvcc", "-lineinfo", "illegal.cu", "-o", "illegal")
    assert "_morph_regions" in run("nm", "illegal").stdout
    done = run("./illegal")
    assert done.stdout == "700"
    assert "illegal.cu:5" in done.stderr


def test_a_function_of_an_operator_is_no_variable(run, tmp_path):
    text = """__global__ void kernel(int* x) { *x = 1; }
struct Number { int value; };
struct Last {
  Number number;
  __device__ Last& operator=(const Number& other) { number = other; return *this; }
};
__device__ bool operator==(Number left, Number right) { return left.value == right.value; }
"""
    (tmp_path / "operators.cu").write_text(text)
    run("nvcc", "-c", "operators.cu")
    assert "_morph_regions" in run("nm", "operators.o").stdout


def test_what_the_compiler_says_is_said(run, tmp_path):
    (tmp_path / "said.cu").write_text("__global__ void kernel(int* x) { *x = 1; }\n")
    said = run("nvcc", "-c", "said.cu", "-Xcompiler", "-fopt-info-inline").stderr
    assert "Inlin" in said
