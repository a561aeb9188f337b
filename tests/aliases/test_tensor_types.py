"""The tensor types that morph creates where neither torch nor the vendor has them."""

from __future__ import annotations

import pytest

from tests import origin
from tests.platforms import Platform

TENSORS = """
import pickle, torch
from morph.aliases.adapters import tensors
made = tensors.FloatTensor(2, 3)
assert made.shape == (2, 3) and made.is_cuda and made.dtype is torch.float32
assert tensors.LongTensor([1, 2]).tolist() == [1, 2]
assert isinstance(made, tensors.FloatTensor) and not isinstance(made, tensors.HalfTensor)
assert not isinstance(3, tensors.FloatTensor)
assert tensors.FloatTensor(made).data_ptr() == made.data_ptr()
try:
    tensors.HalfTensor(made)
except TypeError as error:
    assert "float16" in str(error)
else:
    raise AssertionError("a float tensor became a half one")
assert made.type(tensors.HalfTensor).dtype is torch.float16
assert torch.zeros(2).type(tensors.HalfTensor).is_cuda
assert tensors.FloatTensor.__name__ == "FloatTensor" and tensors.FloatTensor.dtype is torch.float32
assert repr(tensors.FloatTensor) == "<class 'torch.cuda.FloatTensor'>"
"""


@pytest.mark.platforms("cpu", "npu")
def test_tensor_types_without_types_of_the_vendor(platform: Platform) -> None:
    origin.run(platform, TENSORS, morph=True)
