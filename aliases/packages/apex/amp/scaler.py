"""The scaling of losses and unscaling of gradients."""

from ..kernels.loss_scaler import LossScaler as LossScaler
from ..multi_tensor_apply import multi_tensor_applier as multi_tensor_applier
from ._amp_state import master_params as master_params
from ._amp_state import maybe_print as maybe_print
