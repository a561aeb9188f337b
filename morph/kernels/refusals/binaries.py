"""Extension modules that were compiled for NVIDIA's GPUs: what the failed import of one says."""

from __future__ import annotations

import re
from collections.abc import Iterator

from morph.base.errors import add_note

# the driver, the toolkit's libraries and torch's own for CUDA, as an extension is linked to them
_STEMS = "cuda|cudart|cublas|cudnn|cufft|curand|cusolver|cusparse|nccl|nvrtc|nvJitLink|c10_cuda|torch_cuda"
_MISSING = re.compile(rf"lib(?:{_STEMS})\w*\.so[.\d]*: cannot open shared object file")


def explain(error: BaseException) -> None:
    """Add to an error of a program, or to its cause, that an extension was compiled for NVIDIA's GPUs.

    Args:
        error: Whatever ended the program; only the import of such an extension gets a note.
    """
    for each in _chain(error):
        if isinstance(each, ImportError) and each.path and _MISSING.match(str(each)):
            add_note(
                each,
                f"{each.name} was compiled for NVIDIA's GPUs, and no other device runs it; install the "
                "package without its CUDA extension, or build it from its sources under morph "
                "(docs/uses/kernels.md)",
            )


def _chain(error: BaseException | None) -> Iterator[BaseException]:
    seen: set[int] = set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        yield error
        error = error.__cause__ or error.__context__
