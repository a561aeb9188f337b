"""What can go wrong, each as one line that says what to do."""

from __future__ import annotations

from collections.abc import Iterable


class MorphError(Exception):
    """Base of every error that morph raises on its own account."""


class ActivationError(MorphError):
    """morph could not be activated; nothing was changed."""


def did_you_mean(word: str, known: Iterable[str], prefix: str = "") -> str:
    """Return the end of a message about an unknown word: the closest known one, or nothing."""
    import difflib

    close = difflib.get_close_matches(word, [*known], n=1, cutoff=0.7)
    return f"; did you mean {prefix}{close[0]}?" if close else ""


class UnknownBackendError(MorphError):
    """A backend was asked for that no table describes."""

    def __init__(self, name: str, known: Iterable[str]) -> None:
        names = list(known)
        hint = did_you_mean(name, names)
        super().__init__(f"there is no backend {name!r}; the backends are {', '.join(names)}{hint}")


class AbsentBackendError(MorphError):
    """A backend was asked for whose package or device is not there."""

    def __init__(self, name: str, reason: str) -> None:
        super().__init__(f"backend {name!r} cannot be used: {reason}")


class TableError(MorphError):
    """A row of an alias table is malformed."""

    def __init__(self, path: str, line: int, row: str, problem: str) -> None:
        super().__init__(f"{path}:{line}: {row}: {problem}")


class PluginError(MorphError):
    """A backend that an installed distribution brings cannot be used."""

    def __init__(self, name: str, distribution: str, reason: str) -> None:
        super().__init__(f"backend {name!r} of {distribution} cannot be used: {reason}")


class MissingNameError(MorphError, AttributeError):
    """A CUDA name was asked for that the backend lacks.

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
    """A name of a served package that morph lacks was imported from it."""

    def __init__(self, name: str, reason: str) -> None:
        module, _, last = name.rpartition(".")
        super().__init__(f"cannot import name {last!r} from {module!r}: {reason}", name=module)
        self._arguments = name, reason

    def __reduce__(self) -> tuple[object, ...]:
        return MissingImportError, self._arguments


class ConfigurationError(MorphError):
    """A configuration file or an environment variable says something that cannot be meant."""

    def __init__(self, where: str, key: str, problem: str) -> None:
        super().__init__(f"{where}: {key}: {problem}")
