"""Looks at one backend in a separate process, since the vendor's package may break it.

``python -m morph.running.diagnosis.probe NAME`` prints whether the device of that backend is available,
``python -m morph.running.diagnosis.probe`` what an activation would choose, and with ``--native`` what
there is for the C++ parts; the output is one line of JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

ANSWER = "morph-probe: "
NATIVE = "--native"


def presence(name: str) -> dict[str, Any]:
    """Return whether the device of the backend ``name`` is available, as the fields of a ``Presence``."""
    from morph.activation.choice import why_absent
    from morph.backends import Backend
    from morph.backends.tables import table
    from morph.base.journal import Journal

    backend = Backend(table.load(name))
    absence = why_absent(backend, Journal())
    return {"absence": absence, "devices": 0 if absence else backend.namespace.device_count()}


def choice() -> dict[str, Any]:
    """Return the choice of an activation here, as the fields of an ``Activation``."""
    from morph import activation
    from morph.base.errors import MorphError
    from morph.running.diagnosis import native_parts

    try:
        activation.arm(activation.Request())
        import torch
    except MorphError as error:
        return {"problem": str(error)}
    status = activation.status()
    every = map(torch.cuda.get_device_properties, range(torch.cuda.device_count()))
    devices = [{"name": each.name, "memory": each.total_memory} for each in every]
    seam = {"seam": status.seam, "seam_problem": status.seam_problem}
    found = {"backend": status.backend, **seam, "devices": devices, "skipped": status.skipped}
    return {**found, "libraries": native_parts.loaded(), "torch": torch.__version__}


def _native() -> dict[str, Any]:
    from morph.running.diagnosis import native_parts

    return {"compiler": native_parts.compiler(), "libraries": native_parts.kept()}


if __name__ == "__main__":
    asked = sys.argv[1:]
    found = _native() if asked == [NATIVE] else presence(asked[0]) if asked else choice()
    print(ANSWER + json.dumps(found))
