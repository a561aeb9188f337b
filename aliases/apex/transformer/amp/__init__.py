"""The scaling of losses where a model is spread over processes."""

from .grad_scaler import GradScaler as GradScaler
