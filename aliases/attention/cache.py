"""New tokens of a call, rotated by their positions and written into the cache of keys and values."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from .rotary import rotate

if TYPE_CHECKING:
    from .request import Request


def appended(request: Request) -> Request:
    """Write the new keys and values, rotated if there are angles, and return the request without them."""
    query, key, used = request.query, request.new_key, request.keys_used
    if key is None:
        return request
    assert request.new_value is not None
    assert used is not None
    if request.cos is not None:
        first = used if request.first_positions is None else request.first_positions
        query = _rotated(request, first)
        key = _turned(request, key, first)
    place = _place(request, used, key.shape[1])
    request.key[place] = key
    request.value[place] = request.new_value
    used = used + key.shape[1]
    return dataclasses.replace(request, query=query, keys_used=used, new_key=None, new_value=None)


def _place(request: Request, used: Tensor, count: int) -> tuple[Tensor, Tensor]:
    token = (used[:, None] + torch.arange(count, device=used.device)).long()
    pages = request.pages
    if pages is not None:
        size = request.key.shape[1]
        return pages.gather(1, token // size).long(), token % size
    rows = torch.arange(len(token), device=used.device) if request.rows is None else request.rows
    return rows[:, None].long(), token


def _rotated(request: Request, first: Tensor) -> Tensor:
    """Return the queries at their positions; without a mask all of them at the first new one."""
    query, ends = request.query, request.query_ends
    if request.causal or any(0 <= each < request.capacity for each in (request.left, request.right)):
        return _turned(request, query, first, ends)
    if ends is None:
        return _turned(request, query.flatten(1, 2)[:, None], first).view(query.shape)
    of_each = first.repeat_interleave(ends.diff(), output_size=len(query))
    return _turned(request, query[:, None], of_each)[:, 0]


def _turned(request: Request, x: Tensor, first: Tensor, ends: Tensor | None = None) -> Tensor:
    assert request.cos is not None
    assert request.sin is not None
    return rotate(x, request.cos, request.sin, first, ends, request.interleaved)
