"""C++ kernels that are registered for CUDA run on the software device."""

import pytest
import torch

SOURCE = """
#include <torch/extension.h>

at::Tensor scaled(const at::Tensor& x, double by) {
  TORCH_CHECK(x.is_cuda(), "x must be a CUDA tensor");
  return at::mul(x, by);
}

TORCH_LIBRARY(semantics_test_extension, library) { library.def("scaled(Tensor x, float by) -> Tensor"); }
TORCH_LIBRARY_IMPL(semantics_test_extension, CUDA, library) { library.impl("scaled", &scaled); }
"""


def test_kernels_in_cpp(tmp_path):
    extension = pytest.importorskip("torch.utils.cpp_extension")
    extension.load_inline(
        "semantics_test_extension",
        SOURCE,
        build_directory=str(tmp_path),
        is_python_module=False,
        verbose=False,
    )
    operator = torch.ops.semantics_test_extension.scaled
    result = operator(torch.ones(2, device="cuda:1"), 3.0)
    assert (result.tolist(), str(result.device)) == ([3, 3], "cuda:1")
    with pytest.raises(NotImplementedError, match="semantics_test_extension::scaled"):
        operator(torch.ones(2), 3.0)
