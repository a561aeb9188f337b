"""The command line of nvidia-smi."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from morph.base import toml
from morph.kernels.nvidia_smi.refusal import HELP, INVALID, UNSUPPORTED, Refusal

_WORDS = toml.beside(__file__, "arguments.toml")


@dataclass
class Arguments:
    """A command line.

    Attributes:
        flags: The flags that were given.
        values: The options that were given, with their values.
        command: The command, ``"topo"``; empty if there is none.
    """

    flags: set[str] = field(default_factory=set)
    values: dict[str, str] = field(default_factory=dict)
    command: str = ""

    @property
    def interval(self) -> float | None:
        """The seconds between two repetitions; None if there are none.

        Raises:
            Refusal: If it is not a number.
        """
        for name, unit in (("seconds", 1.0), ("milliseconds", 0.001)):
            text = self.values.get(name)
            if text is None:
                continue
            if not text.isdigit():
                raise Refusal(f'"{text}" is not a number. {HELP}', INVALID)
            return max(0.001, int(text or "5") * unit)
        return None

    @classmethod
    def parse(cls, words: Sequence[str]) -> Arguments:
        """Read a command line.

        Raises:
            Refusal: If a word cannot be meant, or is about what morph does not do.
        """
        parsed, rest = cls(), list(words)
        if rest and rest[0] in ("topo", "nvlink", "mig"):
            return cls(flags=set(rest[1:]), command=rest[0])
        while rest:
            parsed._take(rest.pop(0), rest)
        return parsed

    def _take(self, word: str, rest: list[str]) -> None:
        name, equals, value = word.partition("=")
        if name in _WORDS["flags"] and not equals:
            self.flags.add(_WORDS["flags"][name])
        elif name in _WORDS["valued"]:
            if not equals:
                value = self._next(name, rest)
            self.values[_WORDS["valued"][name]] = value
        else:
            raise _unknown(name)

    def _next(self, name: str, rest: list[str]) -> str:
        if rest and not rest[0].startswith("-"):
            return rest.pop(0)
        if name in ("-l", "--loop"):
            return "5"
        raise Refusal(f"ERROR: Option {name} is missing its value. {HELP}", INVALID)


def _unknown(name: str) -> Refusal:
    if name in _WORDS["commands"] or name.removeprefix("--query-") in _WORDS["queries"]:
        return Refusal(
            f"{name} is not supported: use --query-gpu, --query-compute-apps, -q or -L", UNSUPPORTED
        )
    if name in _WORDS["settings"]:
        return Refusal(f"{name} is not supported: morph only reads devices", UNSUPPORTED)
    return Refusal(f"ERROR: Option {name} is not recognized. {HELP}\n", INVALID)
