"""The tools for training in float16 that predate amp."""

from .fp16_optimizer import FP16_Optimizer as FP16_Optimizer
from .fp16util import BN_convert_float as BN_convert_float
from .fp16util import FP16Model as FP16Model
from .fp16util import clip_grad_norm as clip_grad_norm
from .fp16util import convert_module as convert_module
from .fp16util import convert_network as convert_network
from .fp16util import master_params_to_model_params as master_params_to_model_params
from .fp16util import model_grads_to_master_grads as model_grads_to_master_grads
from .fp16util import network_to_half as network_to_half
from .fp16util import prep_param_lists as prep_param_lists
from .fp16util import to_python_float as to_python_float
from .fp16util import tofp16 as tofp16
