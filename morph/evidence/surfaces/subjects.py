"""The subjects of recordings: the modules of a vendor's package, or of torch itself."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from morph.backends.tables import surfaces, table
from morph.backends.tables.surfaces import Surface
from morph.base.errors import MorphError
from morph.evidence.surfaces.recording import RecordingError, record

# The modules that belong to a module of torch's without being submodules of it.
BESIDE = {"torch.cuda": ("torch.backends.cuda", "torch.backends.cudnn", "torch.backends.cusparselt")}


def recorded(name: str, report: Callable[[str], None], modules: Sequence[str] = ()) -> Surface:
    """Record the modules of an installed release; the package is imported.

    Args:
        name: The package of a backend's vendor, or a module of torch's: ``"torch_npu"``, ``"torch.cuda"``.
        report: Called with one line for each submodule that fails to load.
        modules: The dotted names of the modules, if the name does not determine them.

    Raises:
        RecordingError: If the name is neither, and no modules are given; if the package is not installed,
            cannot be imported, or lacks a module.
    """
    package, every = name.partition(".")[0], modules or _modules(name)
    version = _version(package)
    origin = f"an import of {package} {version}, its Python sources and torch's stubs"
    return record(package, version.partition("+")[0], every, origin, report)


def _modules(name: str) -> tuple[str, ...]:
    """Return the modules that are recorded together, the main one first."""
    if "." in name:
        return name, *BESIDE.get(name, ())
    for backend in map(table.load, table.backend_names()):
        if backend.facts.vendor == name:
            return _recorded_modules(backend.facts.module, backend.facts.surface)
    raise RecordingError(f"no table lists the modules of {name}; name them with --module torch.NAME")


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
