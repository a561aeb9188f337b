"""Random expressions of a case."""

from tests.kernels.triton.fuzzing.control.case import MATRIX, SCALAR, VECTOR


def literal(case, element):
    if element == "float32":
        return str(case.random.choice((0.5, 1.25, -2.0)))
    return f"${case.random.randrange(1, 6)}"


def condition(case, shape=SCALAR):
    element = case.random.choice(("int32", "int32", "float32") if shape != MATRIX else ("int32",))
    relation = case.random.choice(("<", "<=", ">", "==", "!="))
    second = case.operand(element, shape) if case.chance(0.6) else literal(case, element)
    text = f"({case.operand(element, shape)} {relation} {second})"
    if case.chance(0.2):
        text = f"({text} {case.random.choice('&|')} {condition(case, shape)})"
    return text


def expression(case, element, shape=SCALAR, depth=2):
    """Return the text of a number or of numbers."""
    if depth == 0 or case.chance(0.15):
        return case.operand(element, shape)
    if case.chance(0.45):
        return _binary(case, element, shape, depth)
    form = case.random.choice((_choice, _loaded, {SCALAR: _scalar, VECTOR: _vector}.get(shape, _matrix)))
    return form(case, element, shape, depth) or _binary(case, element, shape, depth)


def _binary(case, element, shape, depth):
    first = expression(case, element, shape, depth - 1)
    if element != "float32" and case.chance(0.15):
        return f"(({first} + zero) {case.random.choice(('//', '%', '>>'))} {literal(case, element)})"
    symbol = case.random.choice("+-*" if element == "float32" else "++--*&|^")
    second = case.random.choice((case.operand(element, shape), case.operand(element), literal(case, element)))
    return f"({first} {symbol} {second})"


def _choice(case, element, shape, depth):
    first, second = expression(case, element, shape, depth - 1), case.operand(element, shape)
    if shape == SCALAR and case.chance(0.5):
        return f"({first} if {condition(case)} else {second})"
    return f"tl.where({condition(case, shape)}, {first}, {second})"


def _loaded(case, element, shape, depth):
    pointers = case.names(f"*{element}", shape)
    if not pointers:
        return None
    pointer = case.random.choice(pointers)
    if shape == VECTOR and case.chance(0.5):
        return f"tl.load({pointer}, mask={mask(case)}, other={literal(case, element).strip('$')})"
    return f"tl.load({pointer})"


def mask(case):
    """Return a mask of a vector, such as becomes the end of a loop."""
    if case.chance(0.3):
        return condition(case, VECTOR)
    return f"({case.operand('int32', VECTOR) if case.chance(0.4) else 'columns'} < {case.operand('int32')})"


def _scalar(case, element, shape, depth):
    if element == "float32":
        return f"{case.operand('int32')}.to(tl.float32)" if not case.constants else None
    if element == "int64":
        return f"({expression(case, 'int32', SCALAR, depth - 1)} + zero).to(tl.int64)"
    return case.random.choice(
        [
            f"tl.{case.random.choice(('sum', 'max'))}({expression(case, 'int32', VECTOR, depth - 1)}, 0)",
            f"tl.sum(tl.sum({case.operand('int32', MATRIX)}, 1), 0)",
            f"({case.operand('int64')}).to(tl.int32)",
            f"{condition(case)}.to(tl.int32)",
            f"tl.minimum({case.operand('int32')}, {case.operand('int32')})",
        ]
    )


def _vector(case, element, shape, depth):
    if element == "float32":
        return f"{case.operand('int32', VECTOR)}.to(tl.float32)"
    if element == "int64":
        return f"({expression(case, 'int32', VECTOR, depth - 1)}).to(tl.int64)"
    return case.random.choice(
        [
            f"tl.cumsum({expression(case, 'int32', VECTOR, depth - 1)}, 0)",
            f"tl.reshape(tl.trans(tl.reshape({case.operand('int32', VECTOR)}, [2, 4])), [8])",
            f"tl.sum({case.operand('int32', MATRIX)}, 0)",
            f"({case.operand('int64', VECTOR)}).to(tl.int32)",
            f"(columns + {case.operand('int32')})",
        ]
    )


def _matrix(case, element, shape, depth):
    matrix, vector = case.operand("int32", MATRIX), case.operand("int32", VECTOR)
    return case.random.choice(
        [
            f"({matrix} + {vector}[None, :])",
            f"tl.trans(tl.reshape({matrix}, [8, 4]))",
            f"(tl.sum({matrix}, 1)[:, None] * {vector}[None, :])",
        ]
    )
