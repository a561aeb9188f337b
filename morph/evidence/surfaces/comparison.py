"""The names that one surface has and another lacks, and those that are renamed or changed."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field

from morph.backends.tables.surfaces import Surface


@dataclass(frozen=True, slots=True)
class Comparison:
    """The differences between an older and a newer surface.

    Attributes:
        old: The title of the older one, ``"torch_npu 2.12.0"``.
        new: The title of the newer one.
        added: Dotted names that only the newer one has, members of classes included.
        removed: Dotted names that only the older one has.
        changed: The dotted name, mapped to its old and new signature or kind.
    """

    old: str
    new: str
    added: tuple[str, ...] = ()
    removed: tuple[str, ...] = ()
    changed: dict[str, tuple[str, str]] = field(default_factory=dict)

    @property
    def differs(self) -> bool:
        """Whether there is any difference."""
        return bool(self.added or self.removed or self.changed)


def compare(old: Surface, new: Surface) -> Comparison:
    """Compare two surfaces of one module, or of two modules place by place.

    Args:
        old: The older one.
        new: The newer one; if its module has another name, its names are reported under the older one's.

    Returns:
        The differences. A signature that is unknown in one of them is not a difference.
    """
    before, after = dict(_described(old, old.module)), dict(_described(new, old.module))
    common = sorted(before.keys() & after.keys())
    return Comparison(
        old=f"{old.package} {old.version}",
        new=f"{new.package} {new.version}",
        added=tuple(sorted(after.keys() - before.keys())),
        removed=tuple(sorted(before.keys() - after.keys())),
        changed={name: (before[name], after[name]) for name in common if _differ(before[name], after[name])},
    )


def _described(surface: Surface, module: str) -> Iterator[tuple[str, str]]:
    """Yield every name, as if the surface were that of ``module``, with its recorded signature or kind."""
    for name, description in _descriptions(surface):
        inside = name == surface.module or name.startswith(f"{surface.module}.")
        yield (module + name.removeprefix(surface.module) if inside else name), description


def _descriptions(surface: Surface) -> Iterator[tuple[str, str]]:
    yield from ((name, "module") for name in surface.modules)
    yield from surface.functions.items()
    yield from ((name, "value") for name in surface.values)
    for name, recorded in surface.classes.items():
        yield name, f"class{recorded.signature}"
        if recorded.home == name:
            yield from ((f"{name}.{member}", text) for member, text in recorded.members.items())


def _differ(before: str, after: str) -> bool:
    known = before not in ("", "class") and after not in ("", "class")
    return known and before != after
