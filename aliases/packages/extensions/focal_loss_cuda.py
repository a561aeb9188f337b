"""The functions of apex's extension ``focal_loss_cuda``."""

from apex.kernels.focal_loss import backward, forward

__all__ = ["backward", "forward"]
