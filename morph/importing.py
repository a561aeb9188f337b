# imports nothing that is not there already: it is imported while the lock is held
"""The import system's one global lock, which finders are called under."""

import _imp

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import TracebackType


class ImportLockReleased:
    """Lets go of the import system's lock, inside a ``with`` block of a finder that imports something.

    The import system asks finders while it holds that lock. Who waits for another thread's import then, waits
    for a thread that waits for the lock.
    """

    def __enter__(self) -> None:
        self._was_held = True
        try:
            _imp.release_lock()
        except RuntimeError:  # not called by the import system
            self._was_held = False

    def __exit__(
        self,
        kind: "type[BaseException] | None",
        error: "BaseException | None",
        traceback: "TracebackType | None",
    ) -> None:
        if self._was_held:
            _imp.acquire_lock()
