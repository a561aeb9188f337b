"""The functions of apex's extension ``amp_C``."""
# ruff: noqa: F401 (the imported names are part of the interface)

from apex.kernels.adam import (
    multi_tensor_adam,
    multi_tensor_adam_capturable,
    multi_tensor_adam_capturable_master,
)
from apex.kernels.lamb import multi_tensor_lamb
from apex.kernels.scaling import (
    multi_tensor_axpby,
    multi_tensor_l2norm,
    multi_tensor_l2norm_mp,
    multi_tensor_scale,
    multi_tensor_unscale_l2norm,
    update_scale_hysteresis,
)
from apex.kernels.sgd import multi_tensor_sgd
