"""Running out of device memory raises CUDA's error on every backend."""

from __future__ import annotations

import pickle

import pytest
import torch

from tests.platforms import EVERYWHERE

pytestmark = pytest.mark.platforms(*EVERYWHERE)
TOO_MUCH = 1 << 40


def test_the_error_begins_as_cudas() -> None:
    with pytest.raises(torch.cuda.OutOfMemoryError, match=r"^CUDA out of memory\. Tried to") as caught:
        torch.zeros(TOO_MUCH, device="cuda")
    assert caught.value.args[0] == str(caught.value)
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_an_operator_on_tensors_of_the_device_says_the_same() -> None:
    x = torch.zeros(2, device="cuda")
    with pytest.raises(RuntimeError, match="CUDA out of memory"):
        x[:1].expand(TOO_MUCH).clone()


@pytest.mark.platforms("npu", "simulated-mlu")
def test_the_vendors_own_words_stay() -> None:
    with pytest.raises(torch.OutOfMemoryError, match=r"\((NPU|MLU) out of memory\)"):
        torch.zeros(TOO_MUCH, device="cuda")


def test_other_texts_are_left_alone() -> None:
    assert str(torch.OutOfMemoryError("the host has NPU out of memory")) == "the host has NPU out of memory"
    assert torch.OutOfMemoryError("one", 2).args == ("one", 2)
