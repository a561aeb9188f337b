"""The switches of NCCL's networks; other collective libraries do not read them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import torch
import torch.distributed as dist


def set_nccl_socket_envs() -> None:
    """Have NCCL take sockets.

    Raises:
        RuntimeError: If ``NCCL_SOCKET_IFNAME`` is not set.
    """
    if os.getenv("NCCL_SOCKET_IFNAME") is None:
        raise RuntimeError("NCCL_SOCKET_IFNAME was not set")
    os.environ["NCCL_NET"] = "Socket"


def set_nccl_ib_envs() -> None:
    """Have NCCL take InfiniBand."""
    os.environ["NCCL_NET"] = "IB"


def restore_network(name: str | None) -> None:
    """Have NCCL take the network that it took before, or choose."""
    if name is None:
        os.environ.pop("NCCL_NET", None)
    else:
        os.environ["NCCL_NET"] = name


def init_nccl_net(group: Any) -> None:
    """Use a group once, so that its network is chosen now."""
    dist.all_reduce(torch.ones(1, device="cuda"), group=group)
    torch.cuda.synchronize()


def new_nccl_socket_group(ranks: Sequence[int]) -> Any:
    """Return a new group over sockets."""
    set_nccl_socket_envs()
    return _used(dist.new_group(list(ranks), backend="nccl"))


def new_nccl_ib_group(ranks: Sequence[int]) -> Any:
    """Return a new group over InfiniBand."""
    set_nccl_ib_envs()
    return _used(dist.new_group(list(ranks), backend="nccl"))


def new_process_group(ranks: Sequence[int], backend: str | None) -> Any:
    """Return a new group; ``NUM_GPUS_PER_IB_BLOCK`` says which processes InfiniBand connects.

    Args:
        ranks: Its members.
        backend: Its backend; None for ``"nccl"``.
    """
    backend = backend or "nccl"
    block = os.getenv("NUM_GPUS_PER_IB_BLOCK")
    if backend != "nccl" or block is None:
        return dist.new_group(list(ranks), backend=backend)
    if len({rank // int(block) for rank in ranks}) == 1:
        return new_nccl_ib_group(ranks)
    return new_nccl_socket_group(ranks)


def _used(group: Any) -> Any:
    init_nccl_net(group)
    return group
