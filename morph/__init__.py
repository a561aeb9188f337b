"""CUDA-only PyTorch code, unchanged, on any accelerator."""

import os

TYPE_CHECKING = False  # importing typing would cost a start-up file 6 ms
if TYPE_CHECKING:
    from morph.activation import Status, activate, activated, deactivate, status

__version__ = "0.1.0"
__all__ = ["Status", "activate", "activated", "deactivate", "status"]

_root = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
if not os.path.isdir(os.path.join(os.path.dirname(__file__), "finders")) and _root not in __path__:
    __path__.append(_root)  # a bare checkout: finders/ and aliases/ lie beside morph/


def __getattr__(name: str) -> object:
    """Import the public interface at its first use: a start-up file only reaches a finder."""
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from morph import activation

    return getattr(activation, name)
