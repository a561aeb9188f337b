"""Looks at one backend in a separate process, since the vendor's package may break it.

``python -m morph.diagnosis.probe NAME`` prints whether the device of that backend is available, and
``python -m morph.diagnosis.probe`` what an activation would choose; the output is one line of JSON.
"""

from __future__ import annotations

import json
import sys
from typing import Any

ANSWER = "morph-probe: "


def presence(name: str) -> dict[str, Any]:
    """Return whether the device of the backend ``name`` is available, as the fields of a ``Presence``."""
    from morph.activation.choice import why_absent
    from morph.backends import Backend
    from morph.tables import table

    backend = Backend(table.load(name))
    absence = why_absent(backend)
    return {"absence": absence, "devices": 0 if absence else backend.namespace.device_count()}


def choice() -> dict[str, Any]:
    """Return the choice of an activation here, as the fields of an ``Activation``."""
    from morph import activation
    from morph.errors import MorphError

    try:
        activation.arm()
        import torch
    except MorphError as error:
        return {"problem": str(error)}
    status = activation.status()
    devices = [_device(torch.cuda.get_device_properties(index)) for index in range(torch.cuda.device_count())]
    seam = {"seam": status.seam, "seam_problem": status.seam_problem}
    return {"backend": status.backend, **seam, "devices": devices, "skipped": status.skipped}


def _device(properties: Any) -> dict[str, Any]:
    return {"name": properties.name, "memory": properties.total_memory}


if __name__ == "__main__":
    found = presence(sys.argv[1]) if sys.argv[1:] else choice()
    print(ANSWER + json.dumps(found))
