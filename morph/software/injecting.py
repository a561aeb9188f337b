"""Makes faults happen on purpose: each time that one may, the device asks whether it does."""

from __future__ import annotations

import atexit
import itertools
import os
import random
import time
import weakref
from collections.abc import Sequence
from typing import Any

import torch
from torch import distributed
from torch.optim import optimizer

from morph.base import announcement
from morph.software import faults, origins
from morph.software.faults import Fault
from morph.software.machine import started
from morph.software.settings import SettingsError

MEMORY, RESULT, USE = 1, 2, 4  # where a fault may happen, as in faults.h
COLLECTIVE, STEP = 8, 16
UNCOUNTED = 32  # a collective of a program that has made no step
_POINTS = {
    faults.OOM: MEMORY,
    faults.NAN: RESULT,
    faults.ECC: USE,
    faults.NCCL_TIMEOUT: COLLECTIVE,
    faults.RANK_EXIT: STEP,
    faults.SLOW_RANK: STEP | UNCOUNTED,
}


class Steps:
    """Counts the steps of the program: those of one optimizer, if it has several."""

    def __init__(self) -> None:
        self.now = 1
        # of the optimizers: a new one may have an old one's id
        self._numbers = weakref.WeakKeyDictionary[Any, int]()
        self._next = itertools.count(1)
        self._counted = self._last = 0

    @property
    def were_made(self) -> bool:
        """Whether any optimizer has made one."""
        return self._counted > 0

    def begins(self, which: Any) -> bool:
        """Note a call of an optimizer's ``step``; return whether it counts.

        The first optimizer's do, until another makes two in a row: the program has begun anew with that.
        """
        number = self._numbers[which] = self._numbers.get(which) or next(self._next)
        if number == self._last != self._counted:
            self.now += 1  # for its first
        if number == self._last or not self._counted:
            self._counted = number
        self._last = number
        return number == self._counted

    def ends(self, which: Any) -> None:
        """Note that ``step`` returns."""
        self.now += self._numbers.get(which) == self._counted


class Pending:
    """A fault that may happen, and how often it could have."""

    def __init__(self, fault: Fault) -> None:
        self.fault = fault
        self.has_happened = False
        exits_anywhere = fault.name == faults.RANK_EXIT and fault.call is not None
        self.points = USE if exits_anywhere else _POINTS[fault.name]
        self._calls = 0
        self._chances: random.Random | None = None

    def happens(self, point: int, step: int, device: int, name: str) -> bool:
        """Return whether it happens here, and note it."""
        if not point & self.points or not self._is_at(step, device, name) or not self.is_of_this_process():
            return False
        self._calls += 1
        return self._is_chosen()

    def _is_at(self, step: int, device: int, name: str) -> bool:
        lasts = self.fault.name == faults.SLOW_RANK and step > (self.fault.step or 0)
        return (
            (self.fault.step in (None, step) or lasts)
            and self.fault.device in (None, device)
            and self.fault.op in (None, name, name.removesuffix("_"))
        )

    def is_of_this_process(self) -> bool:
        """Return whether the fault belongs to this rank, started as often as it is."""
        return self.fault.rank in (None, _rank() or 0) and self.fault.restart in (None, _restart())

    def _is_chosen(self) -> bool:
        if self.fault.p is not None:
            self._chances = self._chances or random.Random(f"{self.fault.seed} {_rank()} {_restart()}")
            return self._chances.random() < self.fault.p
        return self.fault.name == faults.SLOW_RANK or self._calls == (self.fault.call or 1)

    def act(self, step: int) -> None:
        """Say that it happens, and do what the device does not."""
        if not self.has_happened or self.fault.name != faults.SLOW_RANK:
            rank = "" if _rank() is None else f", on rank {_rank()}"
            announcement.report(f"injected {self.fault.name} at {origins.current()}, in step {step}{rank}")
        self.has_happened = True
        if self.fault.name == faults.SLOW_RANK:
            time.sleep(self.fault.ms / 1000)
        elif self.fault.name == faults.RANK_EXIT:
            _end(self.fault)


_pending: list[Pending] = []
_steps = Steps()


def arm(wanted: Sequence[Fault]) -> None:
    """Let faults happen in this process from now on.

    Raises:
        SettingsError: If torch has no such operator.
    """
    for fault in wanted:
        if fault.op and "::" not in fault.op and not hasattr(torch.ops.aten, fault.op):
            raise SettingsError(fault.text, f"torch has no operator aten::{fault.op}")
    _pending.extend(map(Pending, wanted))
    points = 0
    for pending in _pending:
        points |= pending.points
    started().native.expect_faults(points & (MEMORY | RESULT | USE), _happens)
    optimizer.register_optimizer_step_pre_hook(_begin_step)
    optimizer.register_optimizer_step_post_hook(_end_step)
    atexit.register(_report_others)


def is_absent() -> bool:
    """Return whether the collective that begins does not end."""
    return _happens(COLLECTIVE if _steps.were_made else COLLECTIVE | UNCOUNTED)


def _happens(point: int, device: int = -1, name: str = "") -> bool:
    name = name.removeprefix("aten::")
    due = [each for each in _pending if each.happens(point, _steps.now, device, name)]
    for each in due:
        each.act(_steps.now)
    return any(each.fault.name not in (faults.SLOW_RANK, faults.RANK_EXIT) for each in due)


def _begin_step(which: Any, *_: object) -> None:
    if _steps.begins(which):
        _happens(STEP)


def _end_step(which: Any, *_: object) -> None:
    _steps.ends(which)


def _report_others() -> None:
    """Say which faults did not happen, so that a test of a recovery does not pass for want of one."""
    for each in _pending:
        is_missing = each.fault.p is None and not each.has_happened and each.is_of_this_process()
        if is_missing and started().native.is_initialized():
            announcement.report(f"{each.fault.text} did not happen: the program ended in step {_steps.now}")


def _end(fault: Fault) -> None:
    if fault.signal is not None:
        os.kill(os.getpid(), fault.signal)
    else:
        os._exit(fault.code)


def _rank() -> int | None:
    number = os.environ.get("RANK", "")
    if number.isdigit():
        return int(number)
    has_group = distributed.is_available() and distributed.is_initialized()
    return distributed.get_rank() if has_group else None


def _restart() -> int:
    number = os.environ.get("TORCHELASTIC_RESTART_COUNT", "")
    return int(number) if number.isdigit() else 0
