"""Samplers of batches."""

from ._batchsampler import MegatronPretrainingRandomSampler as MegatronPretrainingRandomSampler
from ._batchsampler import MegatronPretrainingSampler as MegatronPretrainingSampler
