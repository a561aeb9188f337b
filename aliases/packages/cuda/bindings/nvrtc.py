"""NVIDIA's compiler at run time, which is not there: programs ask what its error codes are."""

from .._morph.calls import enumeration

nvrtcResult = enumeration("nvrtcResult", __name__)
