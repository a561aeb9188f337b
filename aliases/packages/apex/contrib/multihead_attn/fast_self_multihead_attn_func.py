"""Attention of a sequence to itself, at the usual scale."""

from .functions import FastSelfAttnFunc as FastSelfAttnFunc

fast_self_attn_func = FastSelfAttnFunc.apply
