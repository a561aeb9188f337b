"""The subjects of recordings: the modules of a vendor's package, or of torch itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from morph.backends.tables import surfaces, table
from morph.backends.tables.surfaces import Surface
from morph.base.errors import MorphError
from morph.evidence.surfaces.recording import RecordingError, record

# The modules that belong to a module of torch's without being submodules of it.
BESIDE = {"torch.cuda": ("torch.backends.cuda", "torch.backends.cudnn", "torch.backends.cusparselt")}


@dataclass(frozen=True, slots=True)
class Subject:
    """The modules that are recorded together.

    Attributes:
        package: The import name of the package that has the modules.
        modules: Their dotted names, the main one first.
    """

    package: str
    modules: tuple[str, ...]

    @classmethod
    def of(cls, name: str, modules: Sequence[str] = ()) -> Subject:
        """Return the subject of a name: the package of a backend's vendor, or a module of torch's.

        Args:
            name: ``"torch_npu"`` or ``"torch.cuda"``.
            modules: The dotted names of the modules, if the name does not determine them.

        Raises:
            RecordingError: If it is neither, and no modules are given.
        """
        package = name.partition(".")[0]
        if modules:
            return cls(package, tuple(modules))
        if "." in name:
            return cls(package, (name, *BESIDE.get(name, ())))
        for backend in map(table.load, table.backend_names()):
            if backend.facts.vendor == name:
                return cls(name, _recorded_modules(backend.facts.module, backend.facts.surface))
        raise RecordingError(f"no table lists the modules of {name}; name them with --module torch.NAME")

    def record(self, report: Callable[[str], None]) -> Surface:
        """Record the modules of the installed release; the package is imported.

        Args:
            report: Called with one line for each submodule that fails to load.

        Raises:
            RecordingError: If the package is not installed, cannot be imported, or lacks a module.
        """
        version = _version(self.package)
        origin = f"an import of {self.package} {version}, its Python sources and torch's stubs"
        return record(self.package, version.partition("+")[0], self.modules, origin, report)


def _recorded_modules(module: str, surface: str) -> tuple[str, ...]:
    """Return a vendor's module and those recorded with it, without their submodules."""
    try:
        recorded = surfaces.load(surface).modules
    except MorphError:
        return (module,)
    roots = {each for each in recorded if each.rpartition(".")[0] not in recorded}
    return module, *sorted(roots - {module})


def _version(package: str) -> str:
    import importlib_metadata

    names = importlib_metadata.packages_distributions().get(package)
    if not names:
        raise RecordingError(f"no installed distribution has the package {package}")
    return importlib_metadata.version(names[0])
