"""What compiled functions do while a graph is captured: they run as they are written."""

from __future__ import annotations

import sys
import threading
from typing import Any

# Dynamo compiles nothing under a dispatch mode, which a capture is, and never tries that code again
# (ConvertFrame in torch._dynamo.convert_frame, as of 2.15); under this stance it is not asked.
STANCE = "force_eager"


class Interruption:
    """Keeps Dynamo from looking at code while any thread captures; others run uncompiled meanwhile."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._captures = 0
        self._before: Any = None

    def begin(self) -> None:
        """Begin a capture."""
        with self._lock:
            self._captures += 1
            dynamo: Any = sys.modules.get("torch._dynamo.eval_frame")
            if dynamo is not None and self._before is None:
                self._before, dynamo._stance = dynamo._stance, dynamo.DynamoStance(STANCE)

    def end(self) -> None:
        """End a capture; after the last one functions are compiled again."""
        with self._lock:
            self._captures -= 1
            if not self._captures and self._before is not None:
                sys.modules["torch._dynamo.eval_frame"]._stance = self._before  # type: ignore[attr-defined]
                self._before = None


of_captures = Interruption()
