"""Faults on purpose: what is to go wrong in a program, where, and how that is written."""

from __future__ import annotations

import re
from collections.abc import Callable
from signal import Signals
from typing import Any, NamedTuple

from morph.base import variables
from morph.base.errors import did_you_mean
from morph.software.settings import SettingsError

FAULTS = OOM, NAN, ECC, NCCL_TIMEOUT, RANK_EXIT, SLOW_RANK = (
    *("oom", "nan", "ecc"),
    *("nccl-timeout", "rank-exit", "slow-rank"),
)
ANY = "any"
_EVERYWHERE = {"step", "call", "rank", "restart", "p", "seed"}
_KEYS = {
    OOM: _EVERYWHERE | {"device"},
    NAN: _EVERYWHERE | {"device", "op"},
    ECC: _EVERYWHERE,
    NCCL_TIMEOUT: _EVERYWHERE,
    RANK_EXIT: _EVERYWHERE | {"code", "signal"},
    SLOW_RANK: _EVERYWHERE - {"call"} | {"ms"},
}
_APART = [{"p", "call"}, {"code", "signal"}]  # of which one place or value is enough


class Fault(NamedTuple):
    """A fault, and its place in the program; what is None may be any.

    Attributes:
        name: What happens, ``"oom"``.
        text: As it was written.
        step: Of the optimizer, from 1.
        call: Which opportunity, from 1: in the step, or in the program.
        rank: Of the process.
        device: The index of the device.
        restart: How often torchrun has started the processes anew.
        p: How probable it is at each opportunity; None lets it happen once.
        seed: Of these chances.
        op: The operator's name.
        ms: How long a slow process sleeps.
        code: The exit status of a process that ends.
        signal: What ends it instead.
    """

    name: str
    text: str
    step: int | None = None
    call: int | None = None
    rank: int | None = None
    device: int | None = None
    restart: int | None = 0
    p: float | None = None
    seed: int = 0
    op: str | None = None
    ms: float = 100
    code: int = 1
    signal: Signals | None = None


def wanted(text: str | None = None, source: str = variables.INJECT) -> tuple[Fault, ...]:
    """Return the faults that are to happen.

    >>> fault, = wanted("oom@step=3,rank=1")
    >>> fault.name, fault.step, fault.rank
    ('oom', 3, 1)

    Args:
        text: The faults, with semicolons between them; None for the environment variable's.
        source: What the text is called where it was given, for an error.

    Raises:
        SettingsError: If there is no such fault, or a key or a value does not fit it.
    """
    if text is None:
        text, source = variables.read(variables.INJECT), variables.INJECT
    return tuple(_fault(each.strip(), source) for each in (text or "").split(";") if each.strip())


def _fault(text: str, source: str) -> Fault:
    name, _, rest = text.partition("@")
    if name not in FAULTS:
        raise SettingsError(
            source, f"a fault must be of {', '.join(FAULTS)}, not {name!r}{did_you_mean(name, FAULTS)}"
        )
    values: dict[str, Any] = {}
    for pair in filter(None, rest.split(",")):
        key, _, value = pair.partition("=")
        values[key] = _value(name, key, value, source)
    _ensure_together(text, set(values), source)
    return Fault(name, text, **values)


def _value(name: str, key: str, value: str, source: str) -> object:
    if key not in _KEYS[name]:
        known = ", ".join(sorted(_KEYS[name]))
        why = f"{key} does not fit {name}" if key in _VALUES else f"there is no key {key!r}"
        raise SettingsError(source, f"{why}: its keys are {known}")
    pattern, form, read = _VALUES[key]
    if not re.fullmatch(pattern, value, re.ASCII):
        raise SettingsError(source, f"{key} must be {form}, not {value!r}")
    return read(value)


def _ensure_together(text: str, keys: set[str], source: str) -> None:
    for pair in _APART:
        if pair <= keys:
            raise SettingsError(source, f"{text}: {' and '.join(sorted(pair))} exclude each other")
    if "seed" in keys and "p" not in keys:
        raise SettingsError(source, f"{text}: seed needs p")


def _signal(name: str) -> Signals:
    return Signals[f"SIG{name}"]


_NUMBER = r"\d+", "a number", int
_FROM_ONE = r"0*[1-9]\d*", "a number from 1", int
_SIGNALS = "|".join(each.name[3:] for each in Signals)
_VALUES: dict[str, tuple[str, str, Callable[[str], object]]] = {
    "step": _FROM_ONE,
    "call": _FROM_ONE,
    "rank": _NUMBER,
    "device": _NUMBER,
    "restart": (rf"\d+|{ANY}", f"a number, or {ANY}", lambda text: None if text == ANY else int(text)),
    "p": (r"0?\.\d+|0|1(\.0*)?", "a probability from 0 to 1", float),
    "seed": _NUMBER,
    "op": (r"[\w:.]+", "an operator's name, such as mm", str),
    "ms": (r"\d+(\.\d+)?", "a number of milliseconds", float),
    "code": (r"\d|[1-9]\d|1\d\d|2[0-4]\d|25[0-5]", "an exit status from 0 to 255", int),
    "signal": (_SIGNALS, "a signal, such as KILL", _signal),
}
