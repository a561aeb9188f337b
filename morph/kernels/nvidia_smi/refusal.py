"""Why nvidia-smi ends without an answer: a message, and NVIDIA's status for it."""

from __future__ import annotations

HELP = "Please run 'nvidia-smi -h' for help."
INVALID = 2  # an argument or flag is invalid
UNSUPPORTED = 3  # the operation is not available on the device
NOT_FOUND = 6  # a query to find an object was unsuccessful
NO_DRIVER = 9  # the driver is not loaded


class Refusal(Exception):
    """A command that cannot be answered.

    Attributes:
        status: The exit status.
    """

    def __init__(self, message: str, status: int) -> None:
        super().__init__(message)
        self.status = status
