"""Samplers of the batches of one process, which can resume an interrupted run."""

from __future__ import annotations

from collections.abc import Iterator

import torch

__all__ = ["MegatronPretrainingRandomSampler", "MegatronPretrainingSampler"]


class _Sampler:
    """The common base of both samplers, which stores and checks the counts."""

    error: type[Exception]

    def __init__(
        self,
        total_samples: int,
        consumed_samples: int,
        local_minibatch_size: int,
        data_parallel_rank: int,
        data_parallel_size: int,
    ) -> None:
        size, rank, ranks = local_minibatch_size, data_parallel_rank, data_parallel_size
        self._require(total_samples > 0, f"no sample to consume: {total_samples}")
        self._require(size > 0, f"local minibatch size must be greater than 0: {size}")
        self._require(ranks > 0, f"data parallel size must be greater than 0: {ranks}")
        self._require(rank < ranks, f"data_parallel_rank should be smaller than data size: {rank} < {ranks}")
        self.total_samples = total_samples
        self.consumed_samples = consumed_samples
        self.data_parallel_rank = data_parallel_rank
        self.data_parallel_size = data_parallel_size
        self.local_minibatch_size = local_minibatch_size

    def _require(self, holds: bool, message: str) -> None:
        if not holds:
            raise self.error(message)

    def __len__(self) -> int:
        return self.total_samples

    @property
    def local_minibatch_size(self) -> int:
        """The number of samples in a batch of one process."""
        return self._local_minibatch_size

    @local_minibatch_size.setter
    def local_minibatch_size(self, size: int) -> None:
        self._local_minibatch_size = size
        self.local_minibatch_times_data_parallel_size = size * self.data_parallel_size


class MegatronPretrainingSampler(_Sampler):
    """Takes samples in order: a batch for each process, then the next batch for each.

    Args:
        total_samples: The number of samples.
        consumed_samples: The number of samples taken before, by all processes together.
        local_minibatch_size: The number of samples in a batch of one process.
        data_parallel_rank: The rank of this process.
        data_parallel_size: The number of processes.
        drop_last: Whether an incomplete batch is dropped.

    Raises:
        RuntimeError: If there are no samples left, or a number is invalid.
    """

    error = RuntimeError

    def __init__(
        self,
        total_samples: int,
        consumed_samples: int,
        local_minibatch_size: int,
        data_parallel_rank: int,
        data_parallel_size: int,
        drop_last: bool = True,
    ) -> None:
        counts = total_samples, consumed_samples, local_minibatch_size
        super().__init__(*counts, data_parallel_rank, data_parallel_size)
        left = f"no samples left to consume: {consumed_samples}, {total_samples}"
        self._require(consumed_samples < total_samples, left)
        self.drop_last = drop_last

    def get_start_end_idx(self) -> tuple[int, int]:
        """Return where this process's part of a batch begins and ends."""
        start = self.data_parallel_rank * self.local_minibatch_size
        return start, start + self.local_minibatch_size

    def __iter__(self) -> Iterator[list[int]]:
        size = self.local_minibatch_times_data_parallel_size
        start, end = self.get_start_end_idx()
        for first in range(self.consumed_samples, self.total_samples, size):
            batch = range(first, min(first + size, self.total_samples))
            if len(batch) == size or not self.drop_last:
                yield list(batch[start:end])


class MegatronPretrainingRandomSampler(_Sampler):
    """Takes samples at random: each process from its own part, in another order in each epoch.

    The arguments are those of ``MegatronPretrainingSampler``; an invalid one raises ``ValueError``.
    """

    error = ValueError

    def __init__(
        self,
        total_samples: int,
        consumed_samples: int,
        local_minibatch_size: int,
        data_parallel_rank: int,
        data_parallel_size: int,
    ) -> None:
        counts = total_samples, consumed_samples, local_minibatch_size
        super().__init__(*counts, data_parallel_rank, data_parallel_size)
        self.last_batch_size = total_samples % self.local_minibatch_times_data_parallel_size

    def __iter__(self) -> Iterator[list[int]]:
        usable = self.total_samples - self.last_batch_size
        self.epoch, taken = divmod(self.consumed_samples, usable)
        own = usable // self.data_parallel_size
        generator = torch.Generator().manual_seed(self.epoch)
        order = torch.randperm(own, generator=generator)[taken // self.data_parallel_size :]
        places = (order + self.data_parallel_rank * own).tolist()
        size = self.local_minibatch_size
        for first in range(0, len(places) - size + 1, size):
            self.consumed_samples += self.local_minibatch_times_data_parallel_size
            yield places[first : first + size]
