"""Attention of a sequence to itself, with its projections."""

from .functions import SelfAttnFunc as SelfAttnFunc

self_attn_func = SelfAttnFunc.apply
