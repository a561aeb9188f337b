"""Layer normalisation and normalisation by the root mean square."""

from .fused_layer_norm import FusedLayerNorm as FusedLayerNorm
from .fused_layer_norm import FusedRMSNorm as FusedRMSNorm
from .fused_layer_norm import MixedFusedLayerNorm as MixedFusedLayerNorm
from .fused_layer_norm import MixedFusedRMSNorm as MixedFusedRMSNorm
