"""Tests of a release that a launcher starts once for all, on every device: here each starts its processes.

``MultiProcContinousTest`` of PyTorch 2.6 is spelled so; its files start themselves, as scripts.
"""

import queue
import tempfile
import unittest
from typing import Any

import torch
from torch.testing._internal import common_distributed

Base = common_distributed.MultiProcContinousTest


class Launched(Base):  # type: ignore[misc, valid-type]
    """A test that runs its method in processes that are given their rank, and joins them."""

    @classmethod
    def setUpClass(cls) -> None:
        """Make the process group, in the processes alone."""
        if cls.rank >= 0:
            super().setUpClass()

    @classmethod
    def tearDownClass(cls) -> None:
        """Destroy the process group, in the processes alone."""
        if cls.rank >= 0:
            super().tearDownClass()

    def run(self, result: unittest.TestResult | None = None) -> Any:
        """Run the method itself in a process with a rank, else the processes."""
        if self.rank < 0:
            setattr(self, self._testMethodName, self._launch)
        return super().run(result)

    def _launch(self) -> None:
        context = torch.multiprocessing.get_context("spawn")
        said = context.Queue()
        with tempfile.TemporaryDirectory() as folder:
            arguments = (type(self), self._testMethodName, self._size(), f"{folder}/rendezvous", said)
            processes = [
                context.Process(target=_run, args=(rank, *arguments), daemon=True)
                for rank in range(self._size())
            ]
            for process in processes:
                process.start()
            outcomes = [_outcome(said) for _ in processes]
            for process in processes:
                process.join()
        for skipped, failed in outcomes:
            if failed:
                raise AssertionError(f"a process exited with exception:\n{failed}")
            if skipped:
                raise unittest.SkipTest(skipped)

    @classmethod
    def _size(cls) -> int:
        """Return how many processes the file starts itself: pipelining's two, others one for each device."""
        return 2 if "pipelining" in cls.__module__ else torch.cuda.device_count()


def _outcome(said: Any) -> tuple[str, str]:
    try:
        outcome: tuple[str, str] = said.get(timeout=200)
    except queue.Empty:
        return "", "a process did not end"
    return outcome


def _run(rank: int, cls: Any, method: str, size: int, file: str, said: Any) -> None:
    cls.rank, cls.world_size, cls.rdvz_file = rank, size, file
    result = unittest.TestResult()
    unittest.TestSuite([cls(method)]).run(result)
    said.put((
        "".join(reason for _, reason in result.skipped),
        "".join(text for _, text in [*result.errors, *result.failures]),
    ))  # fmt: skip


common_distributed.MultiProcContinousTest = Launched
