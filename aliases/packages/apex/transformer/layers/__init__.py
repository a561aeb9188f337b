"""Layer normalisation that supports sequences spread over processes."""

from .layer_norm import FastLayerNorm as FastLayerNorm
from .layer_norm import FusedLayerNorm as FusedLayerNorm
from .layer_norm import MixedFusedLayerNorm as MixedFusedLayerNorm
