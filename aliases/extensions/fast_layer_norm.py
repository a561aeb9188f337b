"""What apex's extension ``fast_layer_norm`` offers."""

from apex.kernels.layer_norm import ln_bwd, ln_fwd

__all__ = ["ln_bwd", "ln_fwd"]
