"""Calls of CUDA's runtime and libraries, wrong ones beside right twins: missing waits, memory too small."""

import functools
import re

import pytest

from tests.kernels.sanitizer.test_kernels import ILLEGAL, KERNELS, run
from tests.software.order.test_order import HOST, STREAMS

PROGRAM = """
import ctypes, subprocess, sys, torch
from torch.utils import cpp_extension
source, *names = sys.argv[1:]
command = [f"{cpp_extension.CUDA_HOME}/bin/nvcc", "-shared", source, "-o", "./calls.so"]
subprocess.run(command, check=True)
library = ctypes.CDLL("./calls.so")
for name in names:
    for right in (1, 0):
        a, b = (torch.zeros(100, device="cuda") for _ in range(2))
        torch.cuda.synchronize()
        function = getattr(library, name)
        function.restype = ctypes.c_char_p
        words = [ctypes.c_void_p(a.data_ptr()), ctypes.c_void_p(b.data_ptr()), 100, right]
        try:
            text = function(*words).decode()
        except RuntimeError as error:
            text = str(error)
        torch.cuda.synchronize()
        print(name, right, text.partition("\\nException raised")[0].replace("\\n", "|"))
"""
SOURCES = "algorithms", "copies", "library_calls", "pinned"
NAMED = re.compile(r"^(SYNC|HOST|MEMORY)\((\w+)", re.MULTILINE)
BEGINNINGS = {"SYNC": STREAMS, "HOST": HOST, "MEMORY": ILLEGAL}
CASES = {
    name: (source, kind)
    for source in SOURCES
    for kind, name in NAMED.findall((KERNELS / f"{source}.cu").read_text())
}


def outcomes(source, folder, *options):
    """Return what each call of a source ended with, by its name and whether it is right."""
    names = [name for name, (of, _) in CASES.items() if of == source]
    lines = run(folder, *options, "-c", PROGRAM, str(KERNELS / f"{source}.cu"), *names).stdout.splitlines()
    return {(name, right == "1"): text for name, right, text in (line.split(" ", 2) for line in lines)}


@pytest.fixture(scope="module")
def ended(tmp_path_factory, native_parts):
    """Returns what a call ended with, of its name and whether it is right."""

    @functools.cache
    def of(source):
        return outcomes(source, tmp_path_factory.mktemp(source), "--sanitize=sync,memory")

    return lambda name, is_right: of(CASES[name][0])[name, is_right]


every_case = pytest.mark.parametrize(
    "name",
    [
        name if source == "copies" else pytest.param(name, marks=pytest.mark.long)
        for name, (source, _) in CASES.items()
    ],
)


@every_case
def test_an_error_is_found(ended, name):
    assert ended(name, False).startswith(BEGINNINGS[CASES[name][1]])


@every_case
def test_nothing_is_said_of_a_right_one(ended, name):
    assert ended(name, True) == ""


@pytest.mark.long
def test_the_call_and_the_memory_are_named(ended):
    block = r"an allocation of 400 bytes on cuda:0, made at <string>:\d+"
    for name, what in {
        "leading_dimension_too_large": "cublasSgemm: a read of 436 bytes",
        "product_that_does_not_fit": "cublasSgemm: a write of 472 bytes",
        "transforms_too_many": "cufftExecC2C: a read of 480 bytes",
        "random_numbers_too_many": "curandGenerateUniform: a write of 404 bytes",
        "copy_of_too_many_bytes": "cudaMemcpyAsync: a read of 404 bytes",
    }.items():
        assert re.fullmatch(f"{ILLEGAL}: {what} over the end of {block}", ended(name, False))
    freed = f"cublasSgemm: a read of 400 bytes in what was {block}"
    assert re.fullmatch(f"{ILLEGAL}: {freed}", ended("memory_that_was_freed", False))


@pytest.mark.long
def test_both_pieces_of_work_are_named(ended):
    assert re.search(r": increase on stream \d+ of cuda:0 writes memory\|", ended("copy_of_a_result", False))
    assert re.search(
        r": cudaMemcpyAsync on stream \d+ of cuda:0 reads 400 bytes of it", ended("copy_of_a_result", False)
    )
    assert re.search(
        r": cublasSgemm on stream \d+ of cuda:0 writes mem", ended("product_of_another_stream", False)
    )


@pytest.mark.long
@pytest.mark.usefixtures("native_parts")
def test_nothing_is_found_without_it(tmp_path):
    said = outcomes("copies", tmp_path)
    assert {name for name, text in said.items() if text} == set()
