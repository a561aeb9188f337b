"""Members and tensor types that morph adds where the vendor lacks them."""

import pytest

from tests import origin
from tests.platforms import Platform

PROGRAM = """
import torch, torch_npu, morph

OWNERS = {
    torch.npu.Event: ["__new__", "cuda_event"],
    torch.npu.Stream: ["cuda_stream", "priority", "priority_range"],
    torch.npu.StreamContext: ["__init__"],
    torch.npu.NPUGraph: ["__new__", "__init__", "capture_begin", "instantiate"],
    type(torch.backends.cudnn): ["allow_tf32", "conv"],
}

def members():
    return {(owner, name): vars(owner).get(name) for owner, names in OWNERS.items() for name in names}

before, matmul = members(), torch.backends.cuda.matmul
morph.activate("npu")
changed = {key for key, value in members().items() if value is not before[key]}
assert changed == before.keys(), before.keys() - changed
assert torch.backends.cuda.matmul is not matmul
morph.deactivate()
after = members()
assert [key for key in before if after[key] is not before[key]] == []
assert torch.backends.cuda.matmul is matmul
assert torch.npu.Event(enable_timing=True).npu_event == 0
"""


@pytest.mark.platforms("npu")
def test_members_come_and_go_with_the_activation(platform: Platform) -> None:
    origin.run(platform, PROGRAM)


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
