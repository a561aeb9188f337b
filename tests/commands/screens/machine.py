"""A machine that `morph doctor` is shown on: what differs between machines is fixed."""

from __future__ import annotations

import io
import re

from rich.console import Console

from morph.running.commands import doctor
from morph.running.diagnosis.findings import Finding, Severity

DESCRIPTION = {
    "environment": {
        "morph": "0.1.0, ~/venv/lib/python3.11/site-packages/morph",
        "torch": "2.13.0+cpu",
        "Python": "3.11.7, CPython, ~/venv/bin/python",
        "system": "Debian GNU/Linux 12 (bookworm), 6.1.0-18-amd64 x86_64, glibc 2.36",
        "hardware": "16 cores, 125.6 GiB of memory",
        "compiler": "c++: c++ (Debian 12.2.0-14) 12.2.0",
    },
    "backends": {
        "npu": "torch-npu 2.13.0; devices: none: torch_npu fails to load: ImportError: libhccl.so: cannot "
        "open shared object file: No such file or directory",
        "mlu": "torch_mlu; devices: none: torch_mlu is not installed",
        "musa": "torch_musa; devices: none: torch_musa is not installed",
        "xpu": "torch itself; devices: none: this torch is not built for it",
        "rocm": "torch itself; devices: none: this torch is not built for it",
        "cpu": "torch-morph 0.1.0; devices: 1",
    },
    "cuda": {"backend": "cpu: no accelerator's device is available", "cuda:0": "CPU: AMD EPYC, 125.6 GiB"},
    "packages": {
        "apex": "served by morph as 0.1",
        "flash_attn": "served by morph as 2.8.4",
        "numpy": "2.4.6",
        "transformers": "5.24.0",
        "wrapt": "2.5.2",
    },
    "native parts": {
        "seam": "none",
        "loaded": "software_device-1e4a28da5ae3d64e2114.cpython-311-x86_64-linux-gnu.so",
        "wheel": "~/venv/lib/python3.11/site-packages/morph/base/native/libraries: none, no such folder",
        "cache": "~/.cache/morph/native: 3 files, 19 MiB: seam, software_collective, software_device",
        "instead of it": "/tmp/morph-native-1000: none, no such folder",
    },
    "settings": {
        "backend": "the first with an available device",
        "packages": "mytrainer, sam2 (~/project/pyproject.toml:12)",
    },
    "variables": {"CUDA_VISIBLE_DEVICES": "0", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"},
}
FINDINGS = [
    Finding(
        Severity.WARNING,
        "npu cannot be used: torch_npu fails to load: ImportError: libhccl.so: cannot open shared object "
        "file: No such file or directory",
        "set up the driver and runtime of Huawei Ascend, or uninstall torch-npu",
    ),
    Finding(
        Severity.NOTE,
        "pynvml 13.615.71 is installed but cannot load: OSError: libnvidia-ml.so.1: cannot open shared "
        "object file: No such file or directory",
        "nothing to do: morph serves it",
    ),
]


def doctor_shown(width: int) -> str:
    """Returns what `morph doctor` prints there, on a terminal of that width."""
    output = io.StringIO()
    screen = Console(file=output, force_terminal=True, color_system=None, highlight=False, width=width)
    doctor._print_description(DESCRIPTION, screen)
    doctor._print_findings(FINDINGS, screen)
    return re.sub(r"\x1b\[[\d;]*m| +$", "", output.getvalue(), flags=re.MULTILINE)
