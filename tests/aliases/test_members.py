"""Members that the tables add to vendors' classes and to flag modules disappear on deactivation."""

from __future__ import annotations

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
