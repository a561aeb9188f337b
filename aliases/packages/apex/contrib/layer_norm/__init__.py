"""Layer normalisation over the last dimension."""

from .layer_norm import FastLayerNorm as FastLayerNorm
