"""Micro-batches; the passes of pipelines are megatron.core's."""

from . import utils as utils
