"""The number of micro-batches of a step."""

from __future__ import annotations

import abc
from collections.abc import Sequence

from .log_util import get_transformer_logger as get_transformer_logger

_logger = get_transformer_logger(__name__)


class NumMicroBatchesCalculator(abc.ABC):
    """Computes how many micro-batches a step has."""

    num_micro_batches: int
    current_global_batch_size: int
    micro_batch_size: int

    def get(self) -> int:
        """Return how many micro-batches a step has."""
        return self.num_micro_batches

    def get_current_global_batch_size(self) -> int:
        """Return how many samples a step has in all processes together."""
        return self.current_global_batch_size

    @abc.abstractmethod
    def update(self, consumed_samples: int, consistency_check: bool) -> None:
        """Update the count for the number of samples that all processes together have taken.

        With ``consistency_check``, a step must consist of whole micro-batches.
        """


class ConstantNumMicroBatches(NumMicroBatchesCalculator):
    """A constant number of micro-batches; arguments: see ``build_num_microbatches_calculator``."""

    def __init__(self, global_batch_size: int, micro_batch_size: int, data_parallel_size: int) -> None:
        together = micro_batch_size * data_parallel_size
        assert global_batch_size % together == 0, (
            f"global batch size ({global_batch_size}) is not divisible by micro batch size "
            f"({micro_batch_size}) times data parallel size ({data_parallel_size})"
        )
        self.num_micro_batches = global_batch_size // together
        assert self.num_micro_batches >= 1
        self.current_global_batch_size = global_batch_size
        self.micro_batch_size = micro_batch_size

    def update(self, consumed_samples: int, consistency_check: bool) -> None:
        """Do nothing."""


class RampupBatchsizeNumMicroBatches(NumMicroBatchesCalculator):
    """A number of micro-batches that increases during a run.

    Args:
        start_batch_size: The initial number of samples of a step, in all processes together.
        batch_size_increment: The increment of that number.
        ramup_samples: The number of samples after which it reaches its final value.
        global_batch_size: The final value.
        micro_batch_size: How many samples a micro-batch has.
        data_parallel_size: How many processes have different data.
    """

    def __init__(
        self,
        start_batch_size: int,
        batch_size_increment: int,
        ramup_samples: int,
        global_batch_size: int,
        micro_batch_size: int,
        data_parallel_size: int,
    ) -> None:
        self.micro_batch_size = micro_batch_size
        self.data_parallel_size = data_parallel_size
        self.micro_batch_times_data_parallel_size = micro_batch_size * data_parallel_size
        assert self.micro_batch_times_data_parallel_size > 0
        assert 0 < start_batch_size <= global_batch_size
        assert batch_size_increment > 0
        assert ramup_samples >= 0
        self.start_batch_size = start_batch_size
        self.batch_size_increment = batch_size_increment
        self.ramup_samples = ramup_samples
        self.global_batch_size = global_batch_size
        difference = global_batch_size - start_batch_size
        assert difference % batch_size_increment == 0, (
            f"expected global batch size interval ({difference}) to be divisible by global batch size "
            f"increment ({batch_size_increment})"
        )
        self.rampup_samples_per_increment = ramup_samples / max(difference // batch_size_increment, 1)
        self.update(0, False)

    def update(self, consumed_samples: int, consistency_check: bool) -> None:
        """Increase the batch size according to the samples taken."""
        self.current_global_batch_size = self.global_batch_size
        if consumed_samples <= self.ramup_samples and self.rampup_samples_per_increment:
            steps = int(consumed_samples / self.rampup_samples_per_increment)
            self.current_global_batch_size = self.start_batch_size + steps * self.batch_size_increment
        together = self.micro_batch_times_data_parallel_size
        if consistency_check:
            assert self.current_global_batch_size % together == 0, (
                f"current global batch size ({self.current_global_batch_size}) is not divisible by "
                f"micro-batch-size ({self.micro_batch_size}) times data parallel size "
                f"({self.data_parallel_size})"
            )
        self.num_micro_batches = self.current_global_batch_size // together


def build_num_microbatches_calculator(
    rank: int,
    rampup_batch_size: Sequence[int] | None,
    global_batch_size: int,
    micro_batch_size: int,
    data_parallel_size: int,
) -> NumMicroBatchesCalculator:
    """Create the object that computes how many micro-batches a step has.

    Args:
        rank: The rank of this process; the first one logs.
        rampup_batch_size: The initial batch size, its increment, and the number of samples after which it is
            constant; or None.
        global_batch_size: The final number of samples of a step, in all processes together.
        micro_batch_size: How many samples a micro-batch has.
        data_parallel_size: How many processes have different data.
    """
    sizes = global_batch_size, micro_batch_size, data_parallel_size
    if rampup_batch_size is None:
        calculator: NumMicroBatchesCalculator = ConstantNumMicroBatches(*sizes)
    else:
        assert len(rampup_batch_size) == 3, (
            "expected the following format: --rampup-batch-size <start batch size> "
            "<batch size incerement> <ramp-up samples>"
        )
        start, increment, samples = (int(number) for number in rampup_batch_size)
        calculator = RampupBatchsizeNumMicroBatches(start, increment, samples, *sizes)
    if rank == 0:
        _logger.info("number of micro-batches: %s", calculator.get())
    return calculator
