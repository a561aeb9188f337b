"""The optimizers of apex's first years, which an ``FP16_Optimizer`` hands gradients and a scale."""

from .fp16_optimizer import FP16_Optimizer as FP16_Optimizer
from .fused_adam import FusedAdam as FusedAdam
from .fused_lamb import FusedLAMB as FusedLAMB
