"""Which of a kernel's arguments it writes through."""

from __future__ import annotations

from morph.kernels.triton.ir.operations import Function, Operation, every

STORING = ("tt.store", "tt.atomic_rmw", "tt.atomic_cas")
# their first operand is the pointer that the result is made of
POINTING = ("tt.addptr", "tt.splat", "tt.broadcast", "tt.expand_dims", "tt.reshape", "tt.trans", "tt.bitcast")


def written(kernel: Function) -> list[int]:
    """Return the numbers of the arguments, but for a pointer that a loop carries."""
    operations = [operation for block in kernel.body for operation in every(block.operations)]
    definitions = {result: operation for operation in operations for result in operation.results}
    origins = {_origin(each.operands[0], definitions) for each in operations if each.name in STORING}
    return [number for number, (name, _) in enumerate(kernel.arguments) if name in origins]


def _origin(name: str, definitions: dict[str, Operation]) -> str:
    while name in definitions and definitions[name].name in POINTING:
        name = definitions[name].operands[0]
    return name
