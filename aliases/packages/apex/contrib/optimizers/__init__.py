"""apex's early optimizers, to which an ``FP16_Optimizer`` passes gradients and a scale."""

from .fp16_optimizer import FP16_Optimizer as FP16_Optimizer
from .fused_adam import FusedAdam as FusedAdam
from .fused_lamb import FusedLAMB as FusedLAMB
