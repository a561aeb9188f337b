"""CUDA-only PyTorch code, unchanged, on any accelerator.

An interpreter under morph imports only this module when it starts. The start-up file that ``morph enable``
writes calls ``wait_for_torch``, and so does the ``sitecustomize`` of child processes of ``python -m morph``.
From then on this module is the first finder on ``sys.meta_path``, until the first import of a module outside
Python's standard library.

PYTEST_DONT_REWRITE: pytest rewrites packages with a plug-in, and warns of those that are imported already.
"""
# Every interpreter of an enabled environment pays for this file when it starts and, when it ends, for the
# destruction of every object it refers to. So nothing is imported outside functions.

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from importlib.machinery import ModuleSpec
    from types import ModuleType
    from typing import Any

    from morph.activation import activate, activated, deactivate, status
    from morph.activation.state import Status
    from morph.running.launcher.script import ScriptEntry

__version__ = "0.1.0"
__all__ = ["Status", "activate", "activated", "deactivate", "status"]

WORDS = b"cuda", b"nccl", b"NCCL"
PYTHON = 3, 10
SWITCH = "MORPH_STARTUP"
NOT_OF_PROGRAMS = "morph", "sitecustomize", "usercustomize", "org"  # copy and pickle look for Jython's

was_started = is_required = False


def _find_checkout() -> None:
    """Find ``finders`` and ``aliases``, beside this folder in a checkout, inside it elsewhere."""
    import os

    folder = os.path.dirname(os.path.abspath(__file__))
    if not os.path.isdir(os.path.join(folder, "finders")):
        __path__.append(os.path.dirname(folder))


_find_checkout()


def __getattr__(name: str) -> object:
    """Import the public interface at its first use."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    import sys

    ensure_python()
    from morph.base import garbage
    from morph.base.importing import own_imports

    with own_imports, garbage.only_young("morph.activation" not in sys.modules):
        from morph import activation

    return getattr(activation, name)


def ensure_python() -> None:
    """Raise an error where a checkout is used by an old Python, which pip would refuse to install it in.

    Raises:
        ImportError: If this Python is too old.
    """
    import sys

    if sys.version_info < PYTHON:  # the rest of morph is not even read by it
        major, minor = sys.version_info[:2]
        raise ImportError(f"morph needs Python 3.10 or newer, and this is Python {major}.{minor}")


def __dir__() -> "list[str]":
    return [*globals(), *__all__]


def load_ipython_extension(shell: object) -> None:
    """Activate morph in a notebook, for ``%load_ext morph``."""
    from morph import activate

    activate()


def unload_ipython_extension(shell: object) -> None:
    """Undo the activation, for ``%unload_ext morph``."""
    from morph import deactivate

    deactivate()


def wait_for_torch(*, required: bool = False) -> None:
    """Activate morph when torch is imported, serve packages, and rewrite the program when it is read.

    Only the first call in a process counts: ``site`` may read a start-up file twice. An interpreter that runs
    with another user's rights is left alone, since morph loads libraries from a folder of the user's; so is
    one with ``MORPH_STARTUP=0``.

    Args:
        required: Whether the import of torch fails if the requested backend is not available.
    """
    import os
    import sys

    global is_required, was_started
    if has_other_rights() or (os.environ.get(SWITCH) == "0" and not sys.flags.ignore_environment):
        return
    is_required |= required
    if not was_started:
        was_started = True
        sys.meta_path.insert(0, sys.modules[__name__])
        sys.path_hooks.append(claim_script)


def has_other_rights() -> bool:
    """Return whether the process runs with other rights than those of the user who started it (setuid)."""
    import os

    return os.geteuid() != os.getuid() or os.getegid() != os.getgid()


def find_spec(
    fullname: str, path: "Sequence[str] | None" = None, target: "ModuleType | None" = None
) -> "ModuleSpec | None":
    """Return the spec of a module outside Python's standard library, as all finders give it (PEP 451)."""
    import sys

    if path is not None or fullname in sys.stdlib_module_names or fullname in NOT_OF_PROGRAMS:
        return None
    found: ModuleSpec | None = _startup().find_spec(fullname, path, target)
    return found


def find_distributions(context: "Any" = None) -> "Iterable[Any]":
    """Return the served packages' distributions, as a finder does."""
    found: Iterable[Any] = _startup().find_distributions(context)
    return found


def _startup() -> "Any":
    """Import ``morph.running.startup`` without the import system's lock: another thread may import it too."""
    import _imp

    try:
        _imp.release_lock()
    except RuntimeError:  # this thread does not hold it
        from morph.running import startup

        return startup
    try:
        from morph.running import startup
    finally:
        _imp.acquire_lock()
    return startup


def claim_script(path: str) -> "ScriptEntry":
    """Return an importer for the program's script if it has to be rewritten (a path hook of PEP 302).

    Raises:
        ImportError: If ``path`` is anything else.
    """
    import os
    import sys

    if not os.path.isfile(path) or not _mentions_cuda(path):
        raise ImportError(path)
    from morph.running.launcher import script

    return script.claim(path, of_interpreter=sys._getframe().f_back is None)


def _mentions_cuda(path: str) -> bool:
    try:
        with open(path, "rb") as file:
            content = file.read()
    except OSError:
        return False  # the interpreter says what is wrong with it
    return any(word in content for word in WORDS)
