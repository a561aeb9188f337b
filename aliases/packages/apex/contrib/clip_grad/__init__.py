"""Clipping of gradients."""

from .clip_grad import clip_grad_norm_ as clip_grad_norm_
