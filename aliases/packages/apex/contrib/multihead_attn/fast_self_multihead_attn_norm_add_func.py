"""Attention of a sequence to itself, normalised before and added after."""

from .functions import FastSelfAttnNormAddFunc as FastSelfAttnNormAddFunc

fast_self_attn_norm_add_func = FastSelfAttnNormAddFunc.apply
