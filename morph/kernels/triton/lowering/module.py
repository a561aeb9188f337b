"""Functions: their blocks, their calls, and the C++ of a whole kernel."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from morph.kernels.triton.errors import UnsupportedOperationError
from morph.kernels.triton.ir.operations import Block, Function, Operation, Region
from morph.kernels.triton.ir.parsing import parse
from morph.kernels.triton.lowering import (  # noqa: F401  each registers its operations
    arithmetic,
    assembly,
    constants,
    conversions,
    diagnostics,
    mathematics,
    memory,
    products,
    reductions,
    shapes,
)
from morph.kernels.triton.lowering.control import assign
from morph.kernels.triton.lowering.kernel import Kernel, lowers
from morph.kernels.triton.lowering.stores import written
from morph.kernels.triton.lowering.values import Index, Stored, Value, stored

MOST_BLOCKS = 400  # that the blocks of a function may become, each written once for every way to it
TARGET = re.compile(r"(\^\w+)(?:\(([^:)]*)(?::[^)]*)?\))?")

Returning = Callable[[list[Value]], None]


@dataclass(frozen=True, slots=True)
class Source:
    """The C++ of a kernel.

    Attributes:
        text: The text, which includes ``kernel.h``.
        frame: The bytes of the stack that an instance needs.
        written: The numbers of the arguments that it writes through.
    """

    text: str
    frame: int
    written: list[int]


def lower_module(text: str, is_checked: bool = False) -> Source:
    """Lower a module of TTIR.

    Args:
        text: The module, without locations.
        is_checked: Whether its accesses to memory are checked.

    Raises:
        UnsupportedOperationError: If it holds what is not lowered.
    """
    functions = parse(text)
    (public,) = (function for function in functions if function.is_public)
    kernel = Kernel(functions, is_checked)
    if is_checked:
        kernel.writer.write("Checks checks(instance);")
    fields = []
    for number, (name, type) in enumerate(public.arguments):
        kernel.set(name, stored(type, f"a{number}"))
        fields.append(f"{type.c_type} a{number};")
    lower_blocks(kernel, public.body, lambda values: None)
    text = _text(kernel.headers, fields, kernel.writer.lines)
    return Source(text, kernel.writer.frame, written(public))


def _text(headers: list[str], fields: list[str], lines: list[str]) -> str:
    loads = [f"auto const a{number} = arguments.a{number};" for number in range(len(fields))]
    return "\n".join(
        [
            *(f'#include "{header}"' for header in dict.fromkeys(headers)),
            f"struct Arguments {{ {' '.join(fields)} }};",
            "static void run(const Launch& launch, const Instance instance) {",
            "  const Grid grid = launch.grid;",
            "  Arguments arguments;",
            "  std::memcpy((void*)&arguments, launch.arguments, sizeof arguments);" if fields else "",
            *(f"  {line}" for line in [*loads, *lines]),
            "}",
            "",
        ]
    )


def lower_blocks(kernel: Kernel, region: Region, returning: Returning, ending: str = "tt.return") -> None:
    """Write the blocks of a function: each one for every way that leads to it.

    Triton makes blocks of a ``return`` within a branch only, so that they form no loops.

    Args:
        kernel: The kernel.
        region: The blocks.
        returning: Writes what is done with the values that are returned.
        ending: The name of the operation that returns.
    """
    _Blocks(kernel, region, returning, ending).write(region[0], ())


class _Blocks:
    def __init__(self, kernel: Kernel, region: Region, returning: Returning, ending: str) -> None:
        self._kernel = kernel
        self._ending = ending
        self._blocks = {block.label: block for block in region}
        self._returning = returning
        self._written = 0

    def write(self, block: Block, way: tuple[str, ...]) -> None:
        self._written += 1
        if block.label in way or self._written > MOST_BLOCKS:
            raise UnsupportedOperationError("cf.br", "blocks that form a loop are not lowered")
        *operations, ending = block.operations
        self._kernel.lower(operations)
        following = (*way, block.label)
        if ending.name == self._ending:
            self._returning([self._kernel.value(name) for name in ending.operands])
        elif ending.name == "cf.br":
            self._jump(_targets(ending)[0], following)
        elif ending.name == "cf.cond_br":
            self._branch(ending, following)
        else:
            raise UnsupportedOperationError(ending.name, "it ends a block and is not lowered")

    def _branch(self, ending: Operation, way: tuple[str, ...]) -> None:
        condition = self._kernel.scalar(ending.operands[0])
        first, second = _targets(ending)
        for opening, target in ((f"if ({condition})", first), ("else", second)):
            with self._kernel.writer.scope(opening), self._kernel.scoped():
                self._jump(target, way)

    def _jump(self, target: tuple[str, list[str]], way: tuple[str, ...]) -> None:
        label, names = target
        block = self._blocks[label]
        values = [self._kernel.value(name) for name in names]
        for (name, _), value in zip(block.arguments, values, strict=True):
            self._kernel.set(name, value)
        self.write(block, way)


def _targets(ending: Operation) -> list[tuple[str, list[str]]]:
    return [
        (label, [name.strip() for name in names.split(",") if name.strip()])
        for label, names in TARGET.findall(ending.text)
    ]


@lowers("tt.call")
def _call(kernel: Kernel, operation: Operation) -> None:
    match = re.match(r'@("[^"]*"|[\w.$-]+)', operation.words)
    assert match is not None
    function = kernel.functions[match[1].strip('"')]
    results = [kernel.writer.variable(type) for type in operation.outputs]
    _inline(kernel, function, kernel.operands(operation), results)
    for name, result in zip(operation.results, results, strict=True):
        kernel.set(name, result)


def _inline(kernel: Kernel, function: Function, values: Sequence[Value], results: list[Stored]) -> None:
    with kernel.writer.scope(""), kernel.scoped():
        for (name, _), value in zip(function.arguments, values, strict=True):
            kernel.set(name, kernel.stored(value))
        lower_blocks(kernel, function.body, lambda returned: assign(kernel, results, returned))


@lowers("tt.map_elementwise")
def _map(kernel: Kernel, operation: Operation) -> None:
    """Lower a function of scalars that is applied to each element, or to groups that lie side by side."""
    pack, writer = operation.integer("pack"), kernel.writer
    values = [kernel.stored(value) for value in kernel.operands(operation)]
    results = [writer.variable(type) for type in operation.outputs]
    region = operation.regions[0]
    group = writer.name("n")
    with writer.scope(f"for (int {group} = 0; {group} < {values[0].type.size // pack}; ++{group})"):
        places = [f"{group} * {pack} + {number}" for number in range(pack)]
        elements = [f"{value.name}[{place}]" for value in values for place in places]
        targets = [
            Stored(result.type.shaped(None), _constantly(name), 0, False, name)
            for result in results
            for place in places
            for name in [f"{result.name}[{place}]"]
        ]
        with kernel.scoped():
            for (name, type), element in zip(region[0].arguments, elements, strict=True):
                kernel.set(name, writer.constant(type, element))
            lower_blocks(
                kernel,
                region,
                lambda returned: assign(kernel, targets, returned),
                "tt.map_elementwise.return",
            )
    for name, result in zip(operation.results, results, strict=True):
        kernel.set(name, result)


def _constantly(name: str) -> Callable[[Index], str]:
    return lambda index: name
