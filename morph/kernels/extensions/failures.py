"""Builds of CUDA extensions that failed: the same one is not tried again at every import."""

from __future__ import annotations

import contextlib
import functools
import hashlib
import inspect
import os
import pathlib
from collections.abc import Callable, Iterable
from typing import Any

from morph.kernels.extensions.toolkit import Toolkit

_FAILED = "Error building extension"
_PASSING = (
    "Killed",
    "No space left",
    "Cannot allocate memory",
)  # no source's own
_HEADERS = frozenset({".h", ".hh", ".hpp", ".cuh", ".inc", ".inl"})


def remembering(torchs: Callable[..., Any], tools: Toolkit) -> Callable[..., Any]:
    """Return torch's ``load`` or ``load_inline``, which at once raises the error that the build ended with.

    Args:
        torchs: Torch's function.
        tools: The toolkit, in whose folder the errors are kept: another morph or torch has another.
    """
    signature = inspect.signature(torchs)

    @functools.wraps(torchs)
    def load(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs).arguments
        if not _is_for_cuda(given):
            return torchs(*args, **kwargs)
        kept = tools.home / "failures" / _digest(given)
        _raise_again(kept)
        try:
            return torchs(*args, **kwargs)
        except RuntimeError as error:
            _keep(str(error), kept)
            raise

    return load


def _is_for_cuda(given: dict[str, Any]) -> bool:
    files = _files(given)
    return bool(
        given.get("with_cuda")
        or given.get("cuda_sources")
        or any(pathlib.Path(file).suffix in (".cu", ".cuh") for file in files)
    )


def _files(given: dict[str, Any]) -> list[str]:
    sources = given.get("sources", [])
    return list(map(str, [sources] if isinstance(sources, (str, os.PathLike)) else sources))


def _digest(given: dict[str, Any]) -> str:
    """Return a digest of the arguments, of the sources, of the headers beside them, and of the compiler."""
    said = hashlib.sha256(repr((sorted({**given, "verbose": None}.items()), os.environ.get("CXX"))).encode())
    folders = [pathlib.Path(file).absolute().parent for file in _files(given)]
    folders += map(pathlib.Path, given.get("extra_include_paths") or ())
    for path in [*map(pathlib.Path, _files(given)), *_headers(folders)]:
        with contextlib.suppress(OSError):
            said.update(repr((path.name, path.read_bytes())).encode())
    return said.hexdigest()


def _headers(folders: Iterable[pathlib.Path]) -> list[pathlib.Path]:
    found = (path for folder in dict.fromkeys(folders) for path in folder.glob("*"))
    return sorted(path for path in found if path.suffix in _HEADERS)


def _raise_again(kept: pathlib.Path) -> None:
    with contextlib.suppress(OSError):
        error = kept.read_text(encoding="utf-8")
        raise RuntimeError(
            f"{error}\nmorph: it failed so before, and is not tried again; delete {kept} to try"
        )


def _keep(error: str, kept: pathlib.Path) -> None:
    if error.startswith(_FAILED) and not any(reason in error for reason in _PASSING):
        with contextlib.suppress(OSError):
            kept.parent.mkdir(mode=0o700, exist_ok=True)
            kept.write_text(error, encoding="utf-8")
