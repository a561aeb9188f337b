"""A library that holds NVIDIA's runtime itself, here one that is made to look so."""

import ctypes
import os
import subprocess

import pytest
import torch

from morph.kernels.libraries import redirection

RUNTIME = """
extern "C" {
__attribute__((used)) const char mark[] = "libcudart_static_0000";
#define HIDDEN __attribute__((visibility("hidden")))
volatile int one = 1, two = 2;
HIDDEN int cudaGetDeviceCount(int* count) { *count = one - two; return one + two; }
HIDDEN int cudaLaunchKernel(const void*) { return one - two + 1; }
HIDDEN int cudaGetDeviceProperties(void*, int) { return one + two; }
}
"""
CALLERS = """
extern "C" {
int cudaGetDeviceCount(int*), cudaLaunchKernel(const void*), cudaGetDeviceProperties(void*, int);
int count(int* answer) { return cudaGetDeviceCount(answer); }
int launch() { return cudaLaunchKernel(nullptr); }
int properties(void* into) { return cudaGetDeviceProperties(into, 0); }
}
"""


def build(folder, *options, change=("", "")):
    for name, text in {"runtime.cpp": RUNTIME, "callers.cpp": CALLERS}.items():
        (folder / name).write_text(text.replace(*change))
    words = [os.environ.get("CXX", "c++"), "-shared", "-fPIC", "-o", "held.so", *options]
    subprocess.run([*words, "runtime.cpp", "callers.cpp"], cwd=folder, check=True)
    return str(folder / "held.so")


def test_its_functions_are_the_served_ones(tmp_path):
    path, count = build(tmp_path), ctypes.c_int()
    assert redirection.holds_runtime(path)
    assert redirection.redirect(path) == 3
    held = ctypes.CDLL(path)
    assert held.count(ctypes.byref(count)) == 0
    assert count.value == torch.cuda.device_count()
    assert held.properties(ctypes.create_string_buffer(4096)) == 0


def test_a_launch_that_nobody_looked_at_is_told_by_the_next_copy(tmp_path):
    path, runtime = build(tmp_path), ctypes.CDLL("libcudart.so.13")
    redirection.redirect(path)
    x, words = torch.ones(4, device="cuda"), runtime.cudaGetErrorString
    words.restype = ctypes.c_char_p
    assert ctypes.CDLL(path).launch() == 801
    copy = [ctypes.c_void_p(x.data_ptr()), ctypes.create_string_buffer(16), ctypes.c_size_t(16), 1]
    assert runtime.cudaMemcpy(*copy) == 801
    assert b"compiled for a GPU, was not run" in words(801)
    assert runtime.cudaMemcpy(*copy) == 0


@pytest.mark.parametrize(
    ("options", "change", "reason"),
    [
        (["-s"], ("", ""), "no symbols"),
        ([], ("cudaGetDeviceProperties", "cudaGetDeviceProperties_v2"), "the runtime of CUDA 12"),
    ],
)
def test_what_cannot_be_redirected_is_refused(tmp_path, options, change, reason):
    with pytest.raises(redirection.RedirectionError, match=reason):
        redirection.redirect(build(tmp_path, *options, change=change))
