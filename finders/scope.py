# don't import any costly modules: a start-up file reaches this one
"""The code that sees CUDA: all code of a program, or that of the packages that have opted in."""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from typing import Any

WITHOUT_TORCH = ("cupy", "numba", "numba.cuda")  # which load CUDA's libraries, and seldom with torch
# torch's internals see the real device
TORCH = frozenset({"torch", "functorch", "torchgen", "triton"})

TESTING = "torch.testing"  # but the support of its own tests, which other projects' tests use too
COMPILER = "torch._dynamo"
_SPAWNED_MAIN = "__mp_main__"  # the program's name in a child of multiprocessing


def loads_cuda(module: str) -> bool:
    """Return whether a module loads CUDA's libraries while it is imported; numba does with numba-cuda."""
    if module != "numba":
        return module in WITHOUT_TORCH
    from importlib.util import find_spec

    return find_spec("numba_cuda") is not None


class Policy:
    """The policy for the code of one package.

    Attributes:
        cuda: Whether devices and predicates such as ``torch.cuda.is_available`` are as with CUDA to it.
        served: The packages served to it (``flash_attn``, ``apex``, ``pynvml``); None for all.
    """

    __slots__ = ("cuda", "served")

    def __init__(self, *, cuda: bool = True, served: frozenset[str] | None = None) -> None:
        self.cuda = cuda
        self.served = served

    def serves(self, package: str) -> bool:
        """Return whether ``package`` is served to this code."""
        return self.served is None or package in self.served


OPTED_IN = Policy()
LEFT_ALONE = Policy(cuda=False, served=frozenset())


class Scope:
    """The policy of each module.

    Args:
        packages: The policies of top-level packages, by name.
        others: The policy of all other code; None leaves it alone if ``packages`` is given, else opts it in.
    """

    def __init__(self, packages: Mapping[str, Policy] | None = None, others: Policy | None = None) -> None:
        self.packages = packages or {}
        self.others = others or (OPTED_IN if packages is None else LEFT_ALONE)

    def policy(self, module: str) -> Policy:
        """Return the policy for the code of ``module``; torch's own is left alone.

        >>> Scope({"sam2": Policy()}).policy("sam2.build").cuda, Scope({}).policy("numpy").cuda
        (True, False)
        """
        package = "__main__" if module == _SPAWNED_MAIN else module.partition(".")[0]
        if package in TORCH and not module.startswith(TESTING):
            return LEFT_ALONE
        return self.packages.get(package, self.others)

    def including(self, names: Iterable[str]) -> Scope:
        """Return a scope in which top-level modules without a policy of their own have opted in."""
        if self.others is OPTED_IN:
            return self
        return Scope({**dict.fromkeys(names, OPTED_IN), **self.packages}, self.others)

    def to_text(self) -> str:
        """Return the scope as text for an environment variable, read by ``from_text``."""
        if not self.packages and self.others is OPTED_IN:
            return ""
        import json

        return json.dumps(
            {name: _fields(policy) for name, policy in [("", self.others), *self.packages.items()]}
        )

    @classmethod
    def from_text(cls, text: str) -> Scope:
        """Return the scope that ``to_text`` wrote."""
        if not text:
            return cls()
        import json

        packages = {name: _policy(fields) for name, fields in json.loads(text).items()}
        return cls(packages, packages.pop(""))


def _fields(policy: Policy) -> dict[str, Any]:
    served = None if policy.served is None else sorted(policy.served)
    return {"cuda": policy.cuda, "served": served}


def _policy(fields: dict[str, Any]) -> Policy:
    served = None if fields["served"] is None else frozenset(fields["served"])
    return Policy(cuda=fields["cuda"], served=served)
