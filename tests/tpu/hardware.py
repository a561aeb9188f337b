"""What torch_tpu asks a host about its TPUs, for a host with one TPU v5e; a .pth file imports it.

torch_tpu 0.2.0 reads `/sys/bus/pci/devices`, and loads nothing where no TPU is listed there.
"""

from types import ModuleType

import wrapt


def _have_one(hardware: ModuleType) -> None:
    found = 1, hardware._V5E_TOPOLOGY
    vars(hardware).update(_scan_pci_tpus=lambda: found, get_tpu_device_name=lambda: "TPU v5e")


wrapt.register_post_import_hook(_have_one, "torch_tpu._internal.utils.hardware")
