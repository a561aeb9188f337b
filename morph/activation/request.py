# don't import any costly modules: a start-up file reaches this one
"""What an activation is asked for."""

from __future__ import annotations

from morph.finders.scope import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from morph.finders.rewriting.literals import Literals
    from morph.software.settings import Size

    Observer = Callable[[str], None]


class Request:
    """What an activation is asked for.

    Attributes:
        backend: The backend's name; None leaves the choice to morph.
        simulated: Whether to run on the simulated device.
        observer: Called with each CUDA name that is asked for.
        scope: Whose code sees CUDA.
        required: Whether the import that it waits for is to fail where the activation does.
        size: Of the software device, where one is used; None leaves it open.
    """

    def __init__(
        self,
        backend: str | None = None,
        *,
        simulated: bool = False,
        observer: Observer | None = None,
        scope: Scope | None = None,
        required: bool = True,
        size: Size | None = None,
    ) -> None:
        self.backend = backend
        self.simulated = simulated
        self.observer = observer
        self.scope = scope or Scope()
        self.required = required
        self.size = size

    @property
    def rewrites(self) -> bool:
        """Whether comparisons may have to accept more than CUDA's own spelling."""
        return self.literals_of("__main__") is not None

    def literals_of(self, module: str) -> Literals | None:
        """Return what the comparisons of a module are to accept as well."""
        from morph.finders.rewriting import candidates

        return candidates.literals(self.backend, module)
