"""The device that the tests in this folder run on, and its vendor module."""

from typing import Any

import pytest
import torch

from tests import platforms

# for features that only some vendors have, or that differ between vendors
as_an_npu = pytest.mark.parametrize("machine", platforms.chosen(["simulated-npu", "npu"]), indirect=True)
only_simulated = pytest.mark.parametrize(
    "machine", platforms.chosen(["simulated-npu", "simulated-xpu"]), indirect=True
)


def device(index: int | None = None) -> str:
    """Returns the device as text: "npu", or with an index "npu:1"."""
    accelerator = torch.accelerator.current_accelerator()
    assert accelerator is not None
    return accelerator.type if index is None else f"{accelerator.type}:{index}"


def module() -> Any:
    """Returns the module of the device, such as `torch.npu`."""
    return torch.get_device_module(device())
