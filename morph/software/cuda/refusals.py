"""The names of ``torch._C`` that software cannot serve; each refuses when it is called."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from morph.software.machine import NotSimulatedError

_ALLOCATOR = "its allocator is fixed"
_TUNING = "it has no choice of matrix products to tune"
REASONS = {
    "_cuda_changeCurrentAllocator": _ALLOCATOR,
    "_cuda_customAllocator": _ALLOCATOR,
    "_cuda_getCurrentSolverHandle": "there is no cuSOLVER behind it",
    "_nccl_init_rank": "use nccl of torch.distributed",
    "_cuda_record_untuned_enable": _TUNING,
    "_cuda_tunableop_enable": _TUNING,
    "_cuda_tunableop_get_results": _TUNING,
    "_cuda_tunableop_get_validators": _TUNING,
    "_cuda_tunableop_read_file": _TUNING,
    "_cuda_tunableop_set_filename": _TUNING,
    "_cuda_tunableop_set_max_tuning_duration": _TUNING,
    "_cuda_tunableop_set_max_tuning_iterations": _TUNING,
    "_cuda_tunableop_set_numerical_check_tolerances": _TUNING,
    "_cuda_tunableop_set_rotating_buffer_size": _TUNING,
    "_cuda_tunableop_tuning_enable": _TUNING,
}
CLASSES = {
    "_CUDAPluggableAllocator": _ALLOCATOR,
    "_StaticCudaLauncher": "it starts kernels of a GPU",
    "_FastCudaLauncher": "it starts kernels of a GPU",
}


def names() -> dict[str, Any]:
    """Return the names of ``torch._C``."""
    functions = {name: _function(name, reason) for name, reason in REASONS.items()}
    return {**functions, **{name: _class(name, reason) for name, reason in CLASSES.items()}}


def _function(name: str, reason: str) -> Callable[..., Any]:
    def refuse(*arguments: Any, **options: Any) -> Any:
        raise NotSimulatedError(f"torch._C.{name}", reason)

    refuse.__name__ = refuse.__qualname__ = name
    return refuse


def _class(name: str, reason: str) -> type:
    refuse = _function(name, reason)
    return _Refusing(name, (), {"__module__": "torch._C", "__init__": refuse, "refuse": staticmethod(refuse)})


class _Refusing(type):
    """The type of a class that has no instances, and no functions either."""

    refuse: Callable[..., Any]

    def __getattr__(cls, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return cls.refuse
