"""Linear layers."""

from .fused_dense import DenseNoBiasFunc as DenseNoBiasFunc
from .fused_dense import FusedDense as FusedDense
from .fused_dense import FusedDenseFunc as FusedDenseFunc
from .fused_dense import FusedDenseGeluDense as FusedDenseGeluDense
from .fused_dense import FusedDenseGeluDenseFunc as FusedDenseGeluDenseFunc
from .fused_dense import dense_no_bias_function as dense_no_bias_function
from .fused_dense import fused_dense_function as fused_dense_function
from .fused_dense import fused_dense_gelu_dense_function as fused_dense_gelu_dense_function
