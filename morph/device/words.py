"""The words that CUDA code uses for its device, and their translation for the active backend."""

from __future__ import annotations

import re
from typing import Any

import torch

from morph.backends import Backend, active
from morph.finders.torch_cuda.views import Views

CUDA = "cuda"
NCCL = "nccl"
OF_ALL_DEVICES = ("gloo", "mpi", "ucc")
_DEVICE = re.compile(r"cuda(:\d+)?")
_DISPATCH_KEY = re.compile(r"([A-Za-z]*)CUDA")


class Words:
    """Translates CUDA's words into one backend's; any other value is returned unchanged.

    Each method that takes a value is a kind of parameter in ``parameters.toml``.

    Args:
        backend: The backend that CUDA's words stand for.
    """

    def __init__(self, backend: Backend, views: Views) -> None:
        self.backend = backend
        self.views = views
        self._device_type = backend.device_type
        self._collective = backend.collective
        self._shown = {backend.device_type: CUDA}
        if backend.collective not in OF_ALL_DEVICES:
            self._shown[backend.collective] = NCCL
        self._dispatch_key: str = torch._C._dispatch_key_for_device(backend.device_type)

    def engaged(self) -> bool:
        """Return whether CUDA is this device type now; if not, wrappers that code has kept change nothing."""
        backend = active()
        return backend is self.backend or (backend is not None and backend.device_type == self._device_type)

    def device_type(self, value: Any) -> Any:
        """Translate a bare device type: "cuda" becomes "npu"."""
        return self._device_type if isinstance(value, str) and value == CUDA else value

    def device(self, value: Any) -> Any:
        """Translate a device as text: "cuda:1" becomes "npu:1"."""
        match = _DEVICE.fullmatch(value) if isinstance(value, str) else None
        if match is None:
            return value
        return self._device_type + (match[1] or "")

    def dispatch_key(self, value: Any) -> Any:
        """Translate a dispatch key's name: "AutogradCUDA" becomes "AutogradPrivateUse1"."""
        match = _DISPATCH_KEY.fullmatch(value) if isinstance(value, str) else None
        return match[1] + self._dispatch_key if match else value

    def collective(self, value: Any) -> Any:
        """Translate a process group's backend: "cpu:gloo,cuda:nccl" becomes "cpu:gloo,npu:hccl".

        If two device types become the same one, the backend given under its own name counts.
        """
        if not isinstance(value, str):
            return value
        if ":" not in value:
            return self._collective if value.lower() == NCCL else value
        pairs = [pair.partition(":")[::2] for pair in value.lower().split(",")]
        own = {device for device, _ in pairs if device != CUDA}
        chosen = [(d, b) for d, b in pairs if d != CUDA or self._device_type not in own]
        return ",".join(f"{self.device_type(d)}:{self.collective(b)}" for d, b in chosen)

    def shown(self, value: Any) -> Any:
        """Translate the backend's words into CUDA's: "cpu:gloo,npu:hccl" becomes "cpu:gloo,cuda:nccl"."""
        if not isinstance(value, str):
            return value
        pairs = (pair.split(":") for pair in value.split(","))
        text = ",".join(":".join(self._shown.get(word, word) for word in pair) for pair in pairs)
        return value if text == value else type(value)(text)

    def tensor_dtype(self, name: str) -> torch.dtype | None:
        """Return the dtype of CUDA's or the backend's tensor type of that name, None for any other name."""
        module, _, last = name.rpartition(".")
        known = module in ("torch.cuda", self.backend.module) and hasattr(torch, last)
        return getattr(getattr(torch, last), "dtype", None) if known else None
