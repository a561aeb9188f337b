"""The target of a C++ library: one torch and one Python."""

from __future__ import annotations

import importlib.machinery
import re
from typing import NamedTuple

import torch

UPSTREAM_BUILD = re.compile(r"\+(cpu|cu\d+)$")  # of one revision: the same C++ interface for CPU and CUDA

PYBIND11_ABI = ("COMPILER_TYPE", "STDLIB", "BUILD_ABI")


class Target(NamedTuple):
    """One torch and one Python.

    Attributes:
        torch: The release of torch, ``"2.9.1"``; builds other than upstream's for the CPU and for CUDA keep
            their local label, ``"2.9.1+rocm6.4"``.
        revision: The commit that this torch was built from.
        cxx11_abi: Whether it was built with the C++11 ABI of libstdc++.
        pybind11_abi: What a module must have in common with torch to derive from torch's classes by pybind11,
            ``"_gcc_libstdcpp_cxxabi1016"``; empty from torch 2.9 on, where compilers do not differ in it.
        suffix: The file name extension of this Python's extension modules, which names the platform, too.
    """

    torch: str
    revision: str
    cxx11_abi: bool
    pybind11_abi: str
    suffix: str

    @classmethod
    def installed(cls) -> Target:
        """Return the torch and the Python of this process."""
        return cls(
            release(torch.__version__),
            str(torch.version.git_version),
            torch.compiled_with_cxx11_abi(),
            "".join(getattr(torch._C, f"_PYBIND11_{part}", "") for part in PYBIND11_ABI),
            importlib.machinery.EXTENSION_SUFFIXES[0],
        )

    @property
    def identity(self) -> tuple[str, ...]:
        """What a library differs in for each target."""
        return (self.torch, self.revision, f"{self.cxx11_abi}{self.pybind11_abi}", self.suffix)


def release(version: str) -> str:
    """Return a version of torch without the label of upstream's builds for the CPU and for CUDA."""
    return UPSTREAM_BUILD.sub("", version)
