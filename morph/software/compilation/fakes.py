"""Fake tensors: whether they are the software device's, and their twins on the host."""

from __future__ import annotations

import torch
from torch._prims_common import suggest_memory_format
from torch._subclasses.fake_tensor import FakeTensor, in_kernel_invocation_manager

from morph.software.machine import started

HOST = torch.device("cpu")


def is_on_device(value: object) -> bool:
    """Return whether a tensor, real or fake, or a device is of the software device's type."""
    device = value.device if isinstance(value, torch.Tensor) else value
    return isinstance(device, torch.device) and device.type == started().device_type


def twin(fake: FakeTensor, device: torch.device) -> FakeTensor:
    """Make a fake tensor that differs from another in its device alone."""
    with in_kernel_invocation_manager(fake.fake_mode):
        meta = torch.ops.aten.alias.default(fake)
    return FakeTensor(fake.fake_mode, meta, device)


def format_of_convolution(source: torch.Tensor, weight: torch.Tensor) -> torch.memory_format:
    """Return the format of what a convolution returns: channels last where one of the two is so."""
    first = suggest_memory_format(source)
    return suggest_memory_format(weight) if first == torch.contiguous_format else first
