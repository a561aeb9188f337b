"""Perceptrons."""

from .mlp import MLP as MLP
from .mlp import MlpFunction as MlpFunction
from .mlp import mlp_function as mlp_function
