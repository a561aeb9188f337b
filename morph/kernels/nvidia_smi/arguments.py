"""The command line of nvidia-smi."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from morph.kernels.nvidia_smi.refusal import HELP, INVALID, UNSUPPORTED, Refusal

_VALUED = {
    "-i": "id",
    "--id": "id",
    "-f": "filename",
    "--filename": "filename",
    "-d": "display",
    "--display": "display",
    "-l": "seconds",
    "--loop": "seconds",
    "-lms": "milliseconds",
    "--loop-ms": "milliseconds",
    "--format": "format",
    "--query-gpu": "gpu",
    "--query-compute-apps": "compute-apps",
}
_FLAGS = {
    "-h": "help",
    "--help": "help",
    "--version": "version",
    "-L": "list",
    "--list-gpus": "list",
    "-B": "excluded",
    "--list-excluded-gpus": "excluded",
    "-q": "query",
    "--query": "query",
    "-x": "xml",
    "--xml-format": "xml",
    "-u": "units",
    "--unit": "units",
    "--dtd": "dtd",
    "--help-query-gpu": "help-gpu",
    "--help-query-compute-apps": "help-compute-apps",
}
_COMMANDS = frozenset(
    {
        "dmon",
        "daemon",
        "replay",
        "pmon",
        "nvlink",
        "clocks",
        "encodersessions",
        "fbcsessions",
        "vgpu",
        "mig",
        "compute-policy",
        "boost-slider",
        "power-hint",
        "conf-compute",
        "drain",
        "c2c",
    }
)
_SETTINGS = frozenset(
    {
        "-pm",
        "-e",
        "-p",
        "-c",
        "-r",
        "-vm",
        "-gom",
        "-am",
        "-caa",
        "-pl",
        "-cc",
        "-mig",
        "-gtt",
        "-lgc",
        "-rgc",
        "-lmc",
        "-rmc",
        "-ac",
        "-rac",
        "-acp",
        "--auto-boost-default",
        "--gpu-reset",
        "--persistence-mode",
        "--power-limit",
        "--applications-clocks",
        "--compute-mode",
    }
)
_OTHER_QUERIES = ("supported-clocks", "accounted-apps", "retired-pages", "remapped-rows")


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
        if rest and rest[0] == "topo":
            return cls(flags=set(rest[1:]), command="topo")
        while rest:
            parsed._take(rest.pop(0), rest)
        return parsed

    def _take(self, word: str, rest: list[str]) -> None:
        name, equals, value = word.partition("=")
        if name in _FLAGS and not equals:
            self.flags.add(_FLAGS[name])
        elif name in _VALUED:
            if not equals:
                value = self._next(name, rest)
            self.values[_VALUED[name]] = value
        else:
            raise _unknown(name)

    def _next(self, name: str, rest: list[str]) -> str:
        if rest and not rest[0].startswith("-"):
            return rest.pop(0)
        if name in ("-l", "--loop"):
            return "5"
        raise Refusal(f"ERROR: Option {name} is missing its value. {HELP}", INVALID)


def _unknown(name: str) -> Refusal:
    if name in _COMMANDS or name.removeprefix("--query-") in _OTHER_QUERIES:
        return Refusal(
            f"{name} is not supported: use --query-gpu, --query-compute-apps, -q or -L", UNSUPPORTED
        )
    if name in _SETTINGS:
        return Refusal(f"{name} is not supported: morph only reads devices", UNSUPPORTED)
    return Refusal(f"ERROR: Option {name} is not recognized. {HELP}\n", INVALID)
