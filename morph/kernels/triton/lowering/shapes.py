"""Operations that change the shape of a tensor, or the places of its elements."""

from __future__ import annotations

from collections.abc import Callable

from morph.kernels.triton.ir.operations import Operation
from morph.kernels.triton.ir.types import Type
from morph.kernels.triton.lowering.kernel import Kernel, lowers
from morph.kernels.triton.lowering.values import Index, Value, flat, stored

AXES = {"x": 0, "y": 1, "z": 2}


@lowers("tt.get_program_id", "tt.get_num_programs")
def _program(kernel: Kernel, operation: Operation) -> None:
    of = "instance" if operation.name == "tt.get_program_id" else "grid"
    kernel.bind(operation.results[0], Value(Type("i32"), lambda index: f"{of}.{operation.words}"))


@lowers("tt.make_range")
def _range(kernel: Kernel, operation: Operation) -> None:
    start = operation.integer("start")
    kernel.set(
        operation.results[0],
        Value(operation.outputs[0], lambda index: f"({start} + {index[0]})" if start else index[0]),
    )


@lowers("tt.splat")
def _splat(kernel: Kernel, operation: Operation) -> None:
    scalar = kernel.scalar(operation.operands[0])
    kernel.set(operation.results[0], Value(operation.outputs[0], lambda index: scalar, 0, True))


@lowers("tt.unsplat")
def _unsplat(kernel: Kernel, operation: Operation) -> None:
    value = kernel.value(operation.operands[0])
    zeros = ("0",) * len(value.type.shape or ())
    kernel.bind(
        operation.results[0], Value(operation.outputs[0], lambda index: kernel.writer.at(value, zeros))
    )


@lowers("tt.addptr")
def _address(kernel: Kernel, operation: Operation) -> None:
    kernel.elementwise(operation, operation.outputs[0], lambda pointer, offset: f"({pointer} + {offset})")


def _rearranged(kernel: Kernel, operation: Operation, value: Value, source: Callable[[Index], Index]) -> None:
    """Bind the result to ``value``'s elements at the indices that ``source`` returns."""

    def element(index: Index) -> str:
        return kernel.writer.at(value, source(index))

    kernel.set(operation.results[0], Value(operation.outputs[0], element, value.cost, value.is_uniform))


@lowers("tt.expand_dims")
def _expand(kernel: Kernel, operation: Operation) -> None:
    axis = operation.integer("axis")
    value = kernel.cheap(kernel.value(operation.operands[0]))
    _rearranged(kernel, operation, value, lambda index: index[:axis] + index[axis + 1 :])


@lowers("tt.broadcast")
def _broadcast(kernel: Kernel, operation: Operation) -> None:
    value = kernel.cheap(kernel.value(operation.operands[0]))
    shape = value.type.shape or ()

    def source(index: Index) -> Index:
        return tuple("0" if size == 1 else each for each, size in zip(index, shape, strict=True))

    _rearranged(kernel, operation, value, source)


@lowers("tt.trans")
def _transpose(kernel: Kernel, operation: Operation) -> None:
    order = operation.integers("order")
    value = kernel.cheap(kernel.value(operation.operands[0]))

    def source(index: Index) -> Index:
        return tuple(index[order.index(axis)] for axis in range(len(order)))

    _rearranged(kernel, operation, value, source)


@lowers("tt.reshape")
def _reshape(kernel: Kernel, operation: Operation) -> None:
    value, type = kernel.value(operation.operands[0]), operation.outputs[0]
    if value.is_uniform:
        zeros = ("0",) * len(value.type.shape or ())
        _rearranged(kernel, operation, value, lambda index: zeros)
    elif len(value.type.shape or ()) == 1:
        value = kernel.cheap(value)
        _rearranged(kernel, operation, value, lambda index: (flat(index, type.shape or ()),))
    else:
        kernel.set(operation.results[0], stored(type, kernel.stored(value).name))


@lowers("ttg.convert_layout")
def _same(kernel: Kernel, operation: Operation) -> None:
    kernel.set(operation.results[0], kernel.value(operation.operands[0]))


@lowers("tt.join")
def _join(kernel: Kernel, operation: Operation) -> None:
    first, second = (kernel.stored(value) for value in kernel.operands(operation))

    def element(index: Index) -> str:
        return f"({index[-1]} ? {second.element(index[:-1])} : {first.element(index[:-1])})"

    kernel.set(operation.results[0], kernel.copied(Value(operation.outputs[0], element)))


@lowers("tt.split")
def _split(kernel: Kernel, operation: Operation) -> None:
    value = kernel.stored(kernel.value(operation.operands[0]))
    for half, name in enumerate(operation.results):
        kernel.bind(name, Value(operation.outputs[0], _half(value, half)))


def _half(value: Value, half: int) -> Callable[[Index], str]:
    return lambda index: value.element((*index, str(half)))


@lowers("tt.cat")
def _concatenate(kernel: Kernel, operation: Operation) -> None:
    first, second = (kernel.stored(value) for value in kernel.operands(operation))
    result = kernel.writer.variable(operation.outputs[0])
    size = first.type.size
    for start, part in ((0, first), (size, second)):
        with kernel.writer.loop(size) as place:
            kernel.writer.write(f"{result.name}[{start} + {place}] = {part.name}[{place}];")
    kernel.set(operation.results[0], result)


@lowers("tt.gather")
def _gather(kernel: Kernel, operation: Operation) -> None:
    axis = operation.integer("axis")
    source, places = (kernel.stored(value) for value in kernel.operands(operation))

    def element(index: Index) -> str:
        return source.element((*index[:axis], places.element(index), *index[axis + 1 :]))

    kernel.set(operation.results[0], kernel.copied(Value(operation.outputs[0], element)))


@lowers("tt.histogram")
def _histogram(kernel: Kernel, operation: Operation) -> None:
    values = kernel.operands(operation)
    type, writer = operation.outputs[0], kernel.writer
    result = writer.variable(type)
    writer.write(f"std::memset({result.name}, 0, sizeof {result.name});")
    (count,) = values[0].type.shape or ()
    bins, word = type.size, f"u{values[0].type.c_type}"
    place = writer.name("n")
    with writer.scope(f"for (int {place} = 0; {place} < {count}; ++{place})"):
        chosen = writer.constant(values[0].type, writer.at(values[0], (place,)))
        condition = f"{word}({writer.at(chosen)}) < {bins}"
        if len(values) > 1:
            condition += f" && {writer.at(values[1], (place,))}"
        writer.write(f"if ({condition}) ++{result.name}[{writer.at(chosen)}];")
    kernel.set(operation.results[0], result)
