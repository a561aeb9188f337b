"""The errors of kernels that the software device cannot run."""

from __future__ import annotations

from morph.base.errors import MorphError


class UnsupportedOperationError(MorphError, NotImplementedError):
    """A kernel contains an operation that is not lowered.

    Attributes:
        operation: The operation's name, such as ``tt.dot_scaled``.
        reason: Why it is not.
    """

    def __init__(self, operation: str, reason: str) -> None:
        super().__init__(f"{operation} is not available to Triton kernels on the software device: {reason}")
        self.operation, self.reason = operation, reason

    def __reduce__(self) -> tuple[object, ...]:
        return UnsupportedOperationError, (self.operation, self.reason)


class KernelFailedError(MorphError, RuntimeError):
    """A kernel stopped: an assertion of the device failed, or its instances wait for each other."""


class UnsupportedReleaseError(MorphError, RuntimeError):
    """Kernels of this release of triton are not compiled.

    Args:
        release: The installed release.
    """

    def __init__(self, release: str) -> None:
        super().__init__(
            f"the software device compiles no kernels of triton {release}; install triton 3.4 or newer"
        )
