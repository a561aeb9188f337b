"""Cambricon's behaviour that the surface of torch_mlu does not record."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import ModuleType
from typing import Any

import torch
import torch.distributed

from morph.base.status import Status
from morph.software import devices, graphs, runtime_functions
from morph.software.vendors import events, kept_graphs, mlu_backends
from morph.software.vendors.quirks import Quirks

VERSION = 1, 33, 0  # of CNCL

_range_numbers = itertools.count(1)


class _MLUDeviceProperties(devices.DeviceProperties):
    """The device properties that torch_mlu reports."""

    name = "MLU590-M9"
    major, minor = 5, 0
    isa_version = 592
    cluster_count, core_num_per_cluster = 12, 4
    multi_processor_count = cluster_count * core_num_per_cluster
    supports_linear_memory = True


def _is_compiled() -> bool:
    return True


def is_tf32_supported() -> bool:
    """Return whether matrix products may use TF32: always."""
    return True


class MLUGraph(kept_graphs.Graph):
    """torch_mlu's class of graphs."""


class graph(graphs.graph):
    """torch_mlu's context, whose default mode is another than CUDA's."""

    def __init__(
        self, mlu_graph: Any, pool: Any = None, stream: Any = None, capture_error_mode: str = "relaxed"
    ) -> None:
        super().__init__(mlu_graph, pool, stream, capture_error_mode)


def cnrt() -> ModuleType:
    """Return the functions of the runtime that torch_mlu binds."""
    return sys.modules["torch_mlu._MLUC._cnrt"]


def mluProfilerStart() -> Status:
    """Start an attached profiler."""
    return Status.success


def mluProfilerStop() -> Status:
    """Stop an attached profiler."""
    return Status.success


class CnrtError(RuntimeError):
    """A call of the runtime did not succeed."""

    def __init__(self, code: int) -> None:
        super().__init__(f"{runtime_functions.error_string(code)} ({int(code)})")


def check_error(res: int) -> None:
    """Raise if a call of the runtime did not succeed."""
    if res != Status.success:
        raise CnrtError(res)


def start() -> None:
    """Start an attached profiler."""


def stop() -> None:
    """Stop an attached profiler."""


@contextmanager
def profile() -> Iterator[None]:
    """Run an attached profiler for the length of a ``with`` block."""
    yield


def _refuse_initialisation() -> None:
    raise RuntimeError("Do not need to call init function to start MLU profiler.")


def mark(msg: str) -> None:
    """Mark a moment for Cambricon's profiler, which nobody reads here."""


def range_push(msg: str) -> int:
    """Begin a nested range."""
    return 0


def range_pop() -> int:
    """End the innermost range."""
    return 0


def range_start(msg: str) -> int:
    """Begin a range and return its number."""
    return next(_range_numbers)


def range_end(range_id: int) -> None:
    """End a range."""


@contextmanager
def range(msg: str, *args: Any, **kwargs: Any) -> Iterator[None]:
    """Make a range of a ``with`` block."""
    range_push(msg.format(*args, **kwargs))
    yield
    range_pop()


def version() -> tuple[int, int, int]:
    """Return the version of CNCL."""
    return VERSION


def is_cncl_available() -> bool:
    """Return whether there is CNCL: always."""
    return True


def _patch(modules: Mapping[str, ModuleType]) -> None:
    """Change what importing torch_mlu changes in torch."""
    bindings, version, dist = torch._C, torch.version, torch.distributed
    for name in ("tf32", "fp16_reduced_precision_reduction", "bf16_reduced_precision_reduction"):
        fake = getattr(modules["torch.backends.mlu"], f"fake_set_cublas_allow_{name}")
        setattr(bindings, f"_set_cublas_allow_{name}", fake)
    version.mlu = None  # type: ignore[attr-defined]
    dist.is_cncl_available = is_cncl_available  # type: ignore[attr-defined]


QUIRKS = Quirks(
    title="MLU",
    properties=_MLUDeviceProperties,
    names={
        "Device": devices.device,
        "is_built": _is_compiled,
        "batch_isend_irecv": torch.distributed.batch_isend_irecv,
        "mluError": Status,
        "mluGetErrorStr": runtime_functions.error_string,
        "default_pg_cncl_timeout": torch.distributed.constants.default_pg_timeout,
        "torch.mlu.MLUGraph": MLUGraph,
        "torch.mlu.profiler.init": _refuse_initialisation,
        **mlu_backends.NAMES,
    },
    parts=(mlu_backends, events),
    homes={"torch.backends.cnnl": "torch_mlu.backends.cnnl"},
    flags={"torch.backends.cnnl": mlu_backends.CnnlModule},
    patch=_patch,
)
