"""Micro-batches; megatron.core has the pipeline schedules."""

from . import utils as utils
