"""Packages that morph serves."""
import apex  #: apex
import pynvml as nvml  #: pynvml
from apex import amp, optimizers  #: apex.amp, apex.optimizers
from flash_attn import flash_attn_func  #: flash_attn.flash_attn_func

nvml.nvmlInit()  #: pynvml.nvmlInit
apex.parallel.DistributedDataParallel  #: apex.parallel.DistributedDataParallel
flash_attn_func(1, 2, 3)  #: flash_attn.flash_attn_func
amp.initialize  #: apex.amp.initialize
