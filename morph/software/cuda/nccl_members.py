"""The members of NCCL's process groups that others lack; over gloo most of them change nothing."""

from __future__ import annotations

import os
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import torch

from morph.software.machine import NotSimulatedError

CLASS = "torch.distributed.ProcessGroupNCCL"
# NCCL_CONFIG_UNDEF_INT, the default of what ncclConfig_t contains
UNDEFINED = -(1 << 31)
# what torch's getCvarBool reads
SWITCHES = "TORCH_NCCL_BLOCKING_WAIT", "TORCH_NCCL_NAN_CHECK", "TORCH_NCCL_ENABLE_TIMING"
TRUTHS = {"y", "yes", "1", "t", "true", "n", "no", "0", "f", "false"}
NUMBERS = (
    *("blocking", "cga_cluster_size", "min_ctas", "max_ctas", "split_share", "traffic_class"),
    *("collnet_enable", "cta_policy", "shrink_share", "nvls_ctas", "n_channels_per_net_peer"),
    *("nvlink_centric_sched", "max_p2p_peers"),
)


class NCCLConfig:
    """``ncclConfig_t``, none of which makes a difference here."""

    net_name: str | None
    comm_name: str | None

    def __init__(self) -> None:
        vars(self).update(dict.fromkeys(NUMBERS, UNDEFINED), net_name=None, comm_name=None)

    def __copy__(self) -> NCCLConfig:
        made = NCCLConfig()
        vars(made).update(vars(self))
        return made

    def unsafe_get_ptr(self) -> int:
        """Raise an error: there is no ``ncclConfig_t``."""
        raise NotSimulatedError(f"{CLASS}.NCCLConfig.unsafe_get_ptr", "there is no ncclConfig_t")


def check_variables() -> None:
    """Refuse variables of the environment that are no truths, as a group's constructor does.

    Raises:
        RuntimeError: For the first that is none.
    """
    for name in SWITCHES:
        if os.environ.get(name, "0").lower() not in TRUTHS:
            raise RuntimeError(f"Invalid value for environment variable: {name}")


def get_version() -> tuple[int, int, int]:
    """Return NCCL's version."""
    version: tuple[int, int, int] = torch.cuda.nccl.version()[:3]  # type: ignore[no-untyped-call]
    return version


def set_default_timeout(group: Any, timeout: timedelta) -> None:
    """Set the timeout of the collectives that begin later."""
    group.options._timeout = timeout


def _nothing(group: Any, *arguments: Any, **options: Any) -> None:
    """Change nothing: no watchdog ends a collective, no memory is registered."""


def _refused(name: str, reason: str) -> Callable[..., Any]:
    def refuse(group: Any, *arguments: Any) -> Any:
        raise NotSimulatedError(f"{CLASS}.{name}", reason)

    refuse.__name__ = refuse.__qualname__ = name
    refuse.__doc__ = f"Raise an error: {reason}."
    return refuse


_QUIET = (
    *("_add_ephemeral_timeout", "_group_start", "_group_end"),
    *("register_mem_pool", "deregister_mem_pool", "_start_time_estimate"),
)
_REFUSED = {
    "_comm_ptr": "there is no ncclComm_t",
    "comm_ptr": "there is no ncclComm_t",
    "_end_time_estimate": "gloo does not estimate times",
}
OF_GROUPS: dict[str, Any] = {
    **dict.fromkeys(_QUIET, _nothing),
    **{name: _refused(name, reason) for name, reason in _REFUSED.items()},
    "_set_default_timeout": set_default_timeout,
    "get_build_nccl_version": staticmethod(get_version),
    "get_runtime_nccl_version": staticmethod(get_version),
    "NCCL_CTA_POLICY_DEFAULT": 0,
    "NCCL_CTA_POLICY_EFFICIENCY": 1,
    "NCCL_CTA_POLICY_ZERO": 2,
    "NCCLConfig": NCCLConfig,
}


def complete(backend: type) -> None:
    """Give a class of groups what NCCL's have, unless this torch has it already.

    Args:
        backend: The class in C++.
    """
    for name, value in OF_GROUPS.items():
        if not hasattr(backend, name):
            setattr(backend, name, value)
