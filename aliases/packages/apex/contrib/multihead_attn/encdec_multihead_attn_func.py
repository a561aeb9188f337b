"""Attention of one sequence to another, with its projections."""

from .functions import EncdecAttnFunc as EncdecAttnFunc

encdec_attn_func = EncdecAttnFunc.apply
