"""The scaling of losses and unscaling of gradients."""
# ruff: noqa: F401 (the imported names are part of the interface)

from ..kernels.loss_scaler import LossScaler
from ..multi_tensor_apply import multi_tensor_applier
from ._amp_state import master_params, maybe_print
