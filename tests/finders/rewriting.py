"""Runs code whose comparisons against CUDA literals are rewritten for Ascend."""

from __future__ import annotations

import marshal
from types import CodeType
from typing import Any

from morph.finders.rewriting.compilation import compile_source
from morph.finders.rewriting.literals import Literals, Word

NPU = Literals((Word("cuda", "npu"), Word("nccl", "hccl")))


def evaluate(expression: str, literals: Literals = NPU, **names: Any) -> Any:
    namespace = dict(names)
    exec(compile_source(f"result = ({expression})", "<test>", literals), namespace)
    return namespace["result"]


def execute(source: str, **names: Any) -> dict[str, Any]:
    exec(compile_source(source, "<test>", NPU), names)
    return names


def is_rewritten(source: str, literals: Literals = NPU) -> bool:
    """Return whether rewriting changes a module; if not, it compiles to the same bytecode as before."""
    ours = compile_source(source, "<test>", literals)
    return written(ours) != written(compile(source, "<test>", "exec", dont_inherit=True))


def written(code: CodeType) -> bytes:
    return marshal.dumps(code, 2)  # later formats record which objects happen to be shared
