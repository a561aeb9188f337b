"""The start of torch_tpu, which is not loaded by its import alone, and says more than one line about it."""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import io
import os
import pathlib
import warnings
from collections.abc import Iterator

from morph.aliases.adapters.tpu import (
    amp,
    collectives,
    compiling,
    launching,
    operators,
    precision,
    random,
)
from morph.backends import resolve
from morph.base.journal import Journal


def load(journal: Journal) -> None:
    """Import torch_tpu and register its device, as torch's own loading of device extensions does.

    Its functions refuse callers outside of torch and torch_tpu, or warn them once, by the module of the
    calling frame (torch_tpu 0.2.0, ``annotations._is_framework_caller_frame``). Under CUDA's names any
    program may call them.

    Args:
        journal: Records the rebinding.

    Raises:
        ImportError: If there is no PJRT plug-in, without which an import of torch_tpu 0.2.0 ends the process.
    """
    plugin = os.environ.get("TPU_LIBRARY_PATH")
    if not plugin and importlib.util.find_spec("libtpu") is None:
        raise ImportError("libtpu is not installed, and TPU_LIBRARY_PATH names no other PJRT plug-in")
    is_tpu = not plugin or pathlib.Path(plugin).name.startswith("libtpu")
    with _quiet(), contextlib.nullcontext() if is_tpu else collectives.alone():
        importlib.import_module("torch_tpu")
        loader = importlib.import_module("torch_tpu._loader")
        loader.load()  # its import does so only where torch loads device extensions on its own
        journal.on_undo(operators.register(is_tpu=is_tpu)._destroy)
        if not is_tpu:
            collectives.serve(journal)
    _leave_out_warnings(journal)
    amp.serve(journal)
    compiling.serve(journal)
    operators.serve_attention(journal)
    precision.serve(journal)
    random.serve(journal)
    launching.serve(journal, is_tpu=is_tpu)
    # else torch.utils.checkpoint keeps no random state of the device, and dropout differs when it recomputes
    journal.set_attribute(resolve("torch.tpu"), "_initialized", True)
    with journal.tolerating("torch_tpu's refusal of callers"):
        annotations = importlib.import_module("torch_tpu._internal.utils.annotations")
        vars(annotations)["_is_framework_caller_frame"]
        journal.set_attribute(annotations, "_is_framework_caller_frame", lambda frame: True)


def _leave_out_warnings(journal: Journal) -> None:
    """Leave out warnings about what the program has not done: morph asks for float32's precision, as CUDA has
    it, and torch_tpu's C++ looks at the gradients of tensors (0.2.0).
    """
    before = list(warnings.filters)
    warnings.filterwarnings("ignore", "<TorchTpu/Performance/> TPU is using HIGHEST precision")
    warnings.filterwarnings(
        "ignore", r"The \.grad attribute of a Tensor that is not a leaf(.|\n)*torch_tpu_pypi"
    )
    added = [entry for entry in warnings.filters if entry not in before]

    def undo() -> None:
        warnings.filters[:] = [entry for entry in warnings.filters if entry not in added]  # type: ignore[index]

    journal.on_undo(undo)


@contextlib.contextmanager
def _quiet() -> Iterator[None]:
    """Keep back what torch_tpu 0.2.0 prints when it starts: four lines, and how to preload tcmalloc."""
    with (
        warnings.catch_warnings(),
        contextlib.redirect_stdout(io.StringIO()),
        contextlib.redirect_stderr(io.StringIO()),
    ):
        warnings.filterwarnings("ignore", "<TorchTpu/")
        warnings.filterwarnings("ignore", "Warning only once for all operators")  # a kernel replaces another
        yield
