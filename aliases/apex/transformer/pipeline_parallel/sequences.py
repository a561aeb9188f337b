"""Masks and positions of sequences that hold several documents."""

from __future__ import annotations

import torch
from torch import Tensor


def get_ltor_masks_and_position_ids(
    data: Tensor,
    eod_token: int,
    reset_position_ids: bool,
    reset_attention_mask: bool,
    eod_mask_loss: bool,
) -> tuple[Tensor, Tensor, Tensor]:
    """Build what a model that reads from left to right needs.

    Args:
        data: The tokens, of shape (batch, sequence).
        eod_token: What ends a document.
        reset_position_ids: Whether positions begin anew in each document.
        reset_attention_mask: Whether tokens attend to those of their own document only.
        eod_mask_loss: Whether the ends of documents do not count for the loss.

    Returns:
        The attention mask, of shape (batch or 1, 1, sequence, sequence), true where nothing is attended to;
        the loss mask and the positions, of shape (batch, sequence).
    """
    length, ends = data.size(1), data == eod_token
    places = torch.arange(length, device=data.device).expand_as(data)
    # which document a token is in: an end belongs to the document that it ends
    document = ends.cumsum(1) - ends.long()
    seen = places[:1].unsqueeze(2) >= places[:1].unsqueeze(1)
    if reset_attention_mask:
        seen = seen & (document.unsqueeze(2) == document.unsqueeze(1))
    positions = places
    if reset_position_ids:
        first = torch.where(ends, places + 1, 0).cummax(1).values
        begins = torch.cat([torch.zeros_like(first[:, :1]), first[:, :-1]], dim=1)
        positions = places - begins
    losses = torch.ones(data.shape, dtype=torch.float, device=data.device)
    if eod_mask_loss:
        losses = losses.masked_fill(ends, 0.0)
    return ~seen.unsqueeze(1), losses, positions
