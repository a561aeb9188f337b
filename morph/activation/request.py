# don't import any costly modules: a start-up file reaches this one
"""The request for an activation."""

from __future__ import annotations

from morph.finders.scope import Scope

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable

    from morph.software.settings import Size

    Observer = Callable[[str], None]


class Request:
    """The request for an activation.

    Attributes:
        backend: The backend's name; None leaves the choice to morph.
        simulated: Whether to run on the simulated device.
        observer: Called with each CUDA name that is looked up.
        scope: Whose code sees CUDA.
        required: Whether a failed activation makes the import of torch fail.
        size: The size of the software device, where one is used; None leaves it open.
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
