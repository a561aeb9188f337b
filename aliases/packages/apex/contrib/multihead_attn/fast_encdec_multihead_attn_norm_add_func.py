"""Attention of one sequence to another, normalised before and added after."""

from .functions import FastEncdecAttnNormAddFunc as FastEncdecAttnNormAddFunc

fast_encdec_attn_norm_add_func = FastEncdecAttnNormAddFunc.apply
