"""Attention of one sequence to another, at the usual scale."""

from .functions import FastEncdecAttnFunc as FastEncdecAttnFunc

fast_encdec_attn_func = FastEncdecAttnFunc.apply
