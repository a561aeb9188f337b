"""The description of an environment for a report of a bug, in sections of names and texts."""

from __future__ import annotations

import contextlib
import os
import pathlib
import platform
import re
import sys
from collections.abc import Iterator, Mapping
from typing import Any

import morph
from morph.activation import configuration
from morph.activation.configuration import DEFAULT
from morph.backends.tables import table
from morph.base import host
from morph.base.display import counted
from morph.base.errors import MorphError
from morph.base.importing import DEPENDENCIES
from morph.running.diagnosis.probe import NATIVE
from morph.running.diagnosis.processes import ask
from morph.running.diagnosis.survey import Survey, version_of

Section = Mapping[str, str]

GIB = 1 << 30
FRAMEWORKS = ("numpy", "triton", "torchvision", "torchaudio", "lightning", "pytorch-lightning", "ray")
VARIABLES = re.compile(
    r"(MORPH|CUDA|NCCL|GLOO|TORCH|TORCHINDUCTOR|PYTORCH|TRITON|LD|OMP|MKL|ASCEND|HCCL|ACL|CNCL|MLU|NEUWARE|MCCL"
    r"|MUSA|ZE|SYCL|ONEAPI|CCL|HIP|ROCR|ROCM|HSA|RCCL)_\w+|PYTHON\w*"
    r"|RANK|WORLD_SIZE|LOCAL_RANK|LOCAL_WORLD_SIZE|CC|CXX|TMPDIR|XDG_CACHE_HOME|VIRTUAL_ENV|CONDA_PREFIX"
)
SECRETS = re.compile(r"TOKEN|SECRET|PASSWORD|KEY|CREDENTIAL")


def describe(found: Survey) -> dict[str, Section]:
    """Return the sections, each with its title; the user's home is ``~`` in them.

    Args:
        found: The survey of the environment.
    """
    native = ask(NATIVE)
    sections = {
        "environment": _environment(found, native),
        "backends": {each.name: f"{each.package}; devices: {each.found}" for each in found.backends},
        "cuda": {"backend": f"{found.activation.backend or 'nothing'}: {found.reason}", **_devices(found)},
        "packages": dict(_packages(found)),
        "native parts": _native(found, native),
        "settings": _settings(),
        "variables": _variables(),
    }
    return {
        title: {name: _without_home(text) for name, text in each.items()} for title, each in sections.items()
    }


def _environment(found: Survey, native: Mapping[str, Any]) -> Section:
    memory = f"{host.total_memory() / GIB:.1f} GiB of memory"
    return {
        "morph": f"{found.morph}, {os.path.dirname(os.path.abspath(morph.__file__))}",
        "torch": found.torch or "not installed",
        "Python": f"{found.python}, {platform.python_implementation()}, {sys.executable}",
        "system": f"{_system()}, {platform.release()} {platform.machine()}, {' '.join(platform.libc_ver())}",
        "hardware": f"{counted(len(os.sched_getaffinity(0)), 'core')}, {memory}",
        "compiler": str(native.get("compiler") or native["absence"]),
    }


def _system() -> str:
    with contextlib.suppress(OSError):
        return platform.freedesktop_os_release().get("PRETTY_NAME", platform.system())
    return platform.system()


def _devices(found: Survey) -> Section:
    every = enumerate(found.activation.devices)
    return {f"cuda:{index}": f"{each.name}, {each.memory / GIB:.1f} GiB" for index, each in every}


def _packages(found: Survey) -> Iterator[tuple[str, str]]:
    for package in found.packages:
        yield package.name, package.origin
    native = {name for backend in table.backend_names() for name in table.facts(backend).native}
    for name in sorted({*DEPENDENCIES, *FRAMEWORKS, *native}):
        version = version_of(name)
        if version is not None:
            yield name, version


def _native(found: Survey, native: Mapping[str, Any]) -> Section:
    seam, problem = found.activation.seam, found.activation.seam_problem
    loaded = ", ".join(map(os.path.basename, found.activation.libraries))
    why = f": {problem}" if problem else ""
    return {"seam": f"{seam or 'none'}{why}", "loaded": loaded or "none", **native.get("libraries", {})}


def _settings() -> Section:
    try:
        listed = configuration.effective(pathlib.Path.cwd()).listed
    except (MorphError, OSError) as error:
        return {"invalid": str(error)}
    return {each.key: each.text + ("" if each.place == DEFAULT else f" ({each.place})") for each in listed}


def _variables() -> Section:
    """Return the environment variables that change what morph, torch or a vendor does."""
    known = {name for name in os.environ if VARIABLES.fullmatch(name) and not SECRETS.search(name)}
    return {name: os.environ[name] for name in sorted(known)}


def _without_home(text: str) -> str:
    home = os.path.expanduser("~")
    return text if home in ("/", "") else re.sub(rf"{re.escape(home)}(?![\w.-])", "~", text)
