"""morph's exceptions; each message is one line that says what to do."""

from __future__ import annotations

from collections.abc import Iterable


class MorphError(Exception):
    """The base class of morph's errors."""


class ActivationError(MorphError):
    """morph could not be activated, and nothing was changed."""


class BuildError(MorphError):
    """A C++ part could not be built: no compiler, no headers, no place, or a compiler that refuses."""


def did_you_mean(word: str, known: Iterable[str], prefix: str = "") -> str:
    """Return the end of a message about an unknown word: the closest known one, or nothing."""
    import difflib

    close = difflib.get_close_matches(word, [*known], n=1, cutoff=0.7)
    return f"; did you mean {prefix}{close[0]}?" if close else ""


def add_note(error: BaseException, note: str) -> None:
    """Add a line below the error in its traceback, by PEP 678, which Python 3.10 does not have yet."""
    error.__notes__ = [*getattr(error, "__notes__", []), note]  # type: ignore[attr-defined]


class UnknownBackendError(MorphError):
    """The requested backend has no table."""

    def __init__(self, name: str, known: Iterable[str], hint: str = "") -> None:
        super().__init__(f"there is no backend {name!r}; the backends are {', '.join(known)}{hint}")


class AbsentBackendError(MorphError):
    """The package or device of the requested backend is missing."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"backend {name!r} cannot be used: {reason}")


class TableError(MorphError):
    """A row of an alias table is malformed."""

    def __init__(self, path: str, line: int, row: str, problem: str) -> None:
        super().__init__(f"{path}:{line}: {row}: {problem}")


class PluginError(MorphError):
    """A backend from an installed distribution cannot be used."""

    def __init__(self, name: str, distribution: str, reason: str) -> None:
        super().__init__(f"backend {name!r} of {distribution} cannot be used: {reason}")


class MissingNameError(MorphError, AttributeError):
    """The backend lacks a CUDA name.

    It is an ``AttributeError``, so that ``hasattr`` and ``getattr`` with a default work.
    """

    def __init__(self, name: str, backend: str, reason: str) -> None:
        super().__init__(f"{name} does not exist on backend {backend!r}: {reason}")
        self.name = name.rpartition(".")[2]
        self.backend = backend
        self.reason = reason

    def __reduce__(self) -> tuple[object, ...]:
        return MissingNameError, (self.args[0].partition(" does not exist")[0], self.backend, self.reason)


class MissingImportError(MorphError, ImportError):
    """A program imports a name that morph's version of a package lacks."""

    def __init__(self, name: str, reason: str) -> None:
        module, _, last = name.rpartition(".")
        super().__init__(f"cannot import name {last!r} from {module!r}: {reason}", name=module)
        self._arguments = name, reason

    def __reduce__(self) -> tuple[object, ...]:
        return MissingImportError, self._arguments


class ConfigurationError(MorphError):
    """A configuration file or an environment variable has an invalid value."""

    def __init__(self, where: str, key: str, problem: str) -> None:
        super().__init__(f"{where}: {key}: {problem}")
