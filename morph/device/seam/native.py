"""The native seam, behind the interface of ``morph.device.seam.Seam``."""

from __future__ import annotations

import functools
from typing import Any, Literal

from morph.base import native
from morph.finders.torch_cuda.views import Views


class NativeSeam:
    """CUDA as another name of a device type, in torch's C++ core, whose functions are its methods."""

    kind: Literal["native"] = "native"
    problem = None

    def __init__(self) -> None:
        self._module = module = _module()
        self.engage, self.disengage, self.caught = module.engage, module.disengage, module.caught
        self.expect_devices, self.reduce_on_host = module.expect_devices, module.reduce_on_host
        self.leave_out_formats = module.leave_out_formats
        self.compute_rest_on_host = module.compute_rest_on_host
        self.number_by_local_rank = module.number_by_local_rank
        self.order_copies, self.tell_exhaustion = module.order_copies, module.tell_exhaustion
        self.count_waits, self.waits = module.count_waits, module.waits

    def answer_by_caller(self, views: Views) -> None:
        """Let devices be "cuda" to code that sees CUDA; the view of a code object is asked for once."""
        self._module.answer_by_caller(views.view)


@functools.cache
def _module() -> Any:
    return native.load(native.part("seam"))
