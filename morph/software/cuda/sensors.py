"""The sensors of ``torch.cuda``, which reads them from pynvml: the one that morph serves."""

from __future__ import annotations

from types import ModuleType
from typing import Any

import wrapt

from morph.base.errors import add_note
from morph.software import properties, visible
from morph.software.machine import started


def fill_in(module: Any) -> None:
    """Give a re-executed ``torch.cuda`` its readings.

    Args:
        module: ``torch.cuda``, which has imported pynvml as it was there.
    """
    # imported when it is used: it is large, and served only once the activation is done
    module.pynvml = wrapt.LazyObjectProxy(_served, interface=ModuleType)
    module._HAS_PYNVML = True
    module._PYNVML_ERR = None
    module.memory_usage = memory_usage
    # asked of NVIDIA's driver, which may be there
    module._raw_device_count_nvml = lambda: len(_identities())
    module._raw_device_uuid_nvml = _identities


def memory_usage(device: Any = None) -> int:
    """Return the percent of time during which memory was read or written.

    Raises:
        AssertionError: If there is no such device.
        NVMLError_NotSupported: Always: nothing counts it on a CPU. NVML's structure has a 0 for it.
    """
    import pynvml

    properties.of_device(device)
    error = pynvml.NVMLError(pynvml.NVML_ERROR_NOT_SUPPORTED)
    add_note(error, "torch.cuda.memory_usage: a CPU does not report how busy its memory is")
    raise error


def _identities() -> list[str]:
    machine = started()
    identities = (visible.identity(machine.facts.name, number) for number in range(machine.total))
    return [f"{visible.UUID_PREFIX}{identity}" for identity in identities]


def _served() -> ModuleType:
    import pynvml

    module: ModuleType = pynvml
    return module
