"""Layer normalisation and normalisation by the root mean square."""
# ruff: noqa: F401 (the imported names are part of the interface)

from .fused_layer_norm import FusedLayerNorm, FusedRMSNorm, MixedFusedLayerNorm, MixedFusedRMSNorm
