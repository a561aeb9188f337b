"""The handling of CUDA's environment variables on a backend: the table's ``[environment]`` section."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

Fail = Callable[[str, str], None]

_BETWEEN_SETTINGS = re.compile(
    r",(?![^\[]*\])"
)  # the powers of two of "roundup_power2_divisions:[256:1,>:2]"
_NAME = re.compile(r"[A-Z][A-Z0-9_]*")
_FORMS = (
    "the vendor's variable, { variable, values }, { variable, settings, unless }, { ignored }, { needless } "
    "or { default }"
)


class Variable(NamedTuple):
    """One variable of CUDA's, of torch's for CUDA, or of NCCL's.

    Attributes:
        name: The variable, ``"CUDA_LAUNCH_BLOCKING"``.
        target: The vendor's variable for the value, possibly of the same name; empty for none.
        values: The vendor's value for each value, where they differ; empty for no value.
        settings: The keys of a list (``"key:value,key:value"``) that the vendor knows.
        unless: A variable beside the target that, if set, keeps the target from being set.
        ignored: Why it has no meaning for the vendor; reported to a user who sets it.
        needless: Why nothing has to be done about it.
        default: The value of a variable of the vendor's own, unless the user sets it.
    """

    name: str
    target: str = ""
    values: Mapping[str, str] = MappingProxyType({})
    settings: tuple[str, ...] = ()
    unless: str = ""
    ignored: str = ""
    needless: str = ""
    default: str = ""

    def split(self, value: str) -> tuple[str, str]:
        """Return the part of ``value`` that the vendor's variable takes, in its words, and the rest."""
        if self.needless:
            return "", ""
        if not self.target:
            return "", value
        if self.values:
            return (self.values[value], "") if value in self.values else ("", value)
        if not self.settings:
            return value, ""
        return self._split_settings(value)

    def _split_settings(self, value: str) -> tuple[str, str]:
        each = [setting.strip() for setting in _BETWEEN_SETTINGS.split(value) if setting.strip()]
        known = [setting for setting in each if setting.partition(":")[0] in self.settings]
        return ",".join(known), ",".join(setting for setting in each if setting not in known)


def read(entries: Any, fail: Fail) -> dict[str, Variable]:
    """Read an ``[environment]`` section.

    Args:
        entries: The parsed TOML.
        fail: Raises an error about a row; called with its name and the problem.
    """
    if not isinstance(entries, dict):
        fail("environment", "should be a section of variables")
    return {name: _variable(name, entry, fail) for name, entry in entries.items()}


def _variable(name: str, entry: Any, fail: Fail) -> Variable:
    if not _NAME.fullmatch(name):
        fail(name, "is not the name of an environment variable")
    fields: dict[str, Any] = {"variable": entry} if isinstance(entry, str) else entry
    if not isinstance(fields, dict) or set(fields) not in _KEYS:
        fail(name, f"should be {_FORMS}")
    for key, value in fields.items():
        if not _is_well_formed(key, value):
            fail(name, f"{key} = {value!r} is malformed")
    target = fields.get("variable", name if "default" in fields else "")
    others = {key: value for key, value in fields.items() if key != "variable"}
    return Variable(name, target, **{**others, "settings": tuple(others.get("settings", ()))})


_KEYS = (
    {"variable"},
    {"variable", "values"},
    {"variable", "settings"},
    {"variable", "settings", "unless"},
    {"ignored"},
    {"needless"},
    {"default"},
)


def _is_well_formed(key: str, value: Any) -> bool:
    if key == "settings":
        return isinstance(value, list) and bool(value) and all(isinstance(each, str) for each in value)
    if key == "values":
        return isinstance(value, dict) and all(isinstance(each, str) for each in value.values())
    if key in ("variable", "unless"):
        return isinstance(value, str) and _NAME.fullmatch(value) is not None
    return isinstance(value, str) and bool(value)
