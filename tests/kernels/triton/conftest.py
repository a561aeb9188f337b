"""Kernels of these tests are compiled into a folder of the tests."""

import os

from tests.ascend.build import cache_folder

os.environ["TRITON_CACHE_DIR"] = str(cache_folder() / "triton")
os.environ["TRITON_DEFAULT_FP_FUSION"] = "1"  # without it, triton 3.9 warns
