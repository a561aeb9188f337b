"""Random statements of a case."""

import re

from tests.kernels.triton.fuzzing.control.case import MATRIX, SCALAR, VECTOR
from tests.kernels.triton.fuzzing.control.expressions import condition, expression, literal, mask

DEEPEST = 3


def block(case, count):
    for _ in range(count):
        case.random.choice(STATEMENTS if case.depth < DEEPEST else SIMPLE)(case)


def moved(case):
    """Add a scalar, often one that changes too, to a number, to tensors or to pointers."""
    name = case.target()
    element, shape = case.types[name]
    of = element if not element.startswith("*") else case.random.choice(("int32", "int32", "int64"))
    changing = [case.used(each) for each in case.targets if case.types[each] == (of, SCALAR) and each != name]
    step = case.random.choice((case.operand(of), literal(case, of)))
    if changing and case.chance(0.6):
        step = case.random.choice(changing)
    if element != of and case.chance(0.2):
        shape = case.random.choice((SCALAR, VECTOR)) if shape == VECTOR else SCALAR
        step = f"({expression(case, of, shape)} & 7)"
    case.write(f"{name} = {case.used(name)} + {step}" if name in case.constants else f"{name} += {step}")
    case.constants.discard(name)


def assigned(case):
    name = case.target()
    case.write(f"{name} = {value_for(case, name)}")
    case.constants.discard(name)


def value_for(case, name):
    """Return an expression that a name may be assigned."""
    element, shape = case.types[name]
    if not element.startswith("*"):
        return f"({expression(case, element, shape)} + {'zero' if element != 'float32' else '0.0'})"
    if shape == VECTOR and case.chance(0.4) and element == "*int32":
        offsets = case.random.choice(("columns", f"{expression(case, 'int32', VECTOR)} % 8"))
        return f"{case.operand('*int32')} + {offsets}"
    return f"{case.operand(element, shape)} + ({expression(case, 'int32')} & 7)"


def exchanged(case):
    """Let two or three targets of a type change places, or let a function do it."""
    name = case.target()
    alike = [each for each in case.targets if case.types[each] == case.types[name]]
    if len(alike) < 2:
        return
    names = case.random.sample(alike, min(len(alike), case.random.choice((2, 2, 3))))
    values = [case.used(each) for each in names[1:] + names[:1]]
    if case.chance(0.3):
        values[-1] = value_for(case, names[-1])
    text = ", ".join(values)
    if len(names) == 2 and case.chance(0.4):
        text = f"exchanged({text})"
        if case.types[name] == ("int32", SCALAR):
            text = case.random.choice(
                (text, f"ordered({', '.join(values)})", f"stepped({', '.join(values)}, {values[0]} & 3)")
            )
    case.write(f"{', '.join(names)} = {text}")
    case.constants -= set(names)


def defined(case):
    """Define a new name in this block, or in both blocks of a branch."""
    element, shape = case.random.choice(
        (("int32", SCALAR), ("int64", SCALAR), ("int32", VECTOR), ("float32", VECTOR))
    )
    values = [f"{expression(case, element, shape)} * {literal(case, element)}" for _ in range(2)]
    decided = condition(case)
    if case.chance(0.5):
        name = case.new("t", element, shape)
        case.write(f"{name} = {values[0]}")
    else:
        name = case.new("u", element, shape)
        for heading, value in ((f"if {decided}:", values[0]), ("else:", values[1])):
            case.write(heading)
            case.write(f"    {name} = {value}")
    case.targets.append(name)


def stored(case):
    element, shape = case.random.choice(
        (("int32", SCALAR), ("int32", VECTOR), ("float32", VECTOR), ("int32", MATRIX))
    )
    chosen = f", mask={mask(case)}" if shape == VECTOR and case.chance(0.5) else ""
    case.write(
        f"tl.store({case.operand('*' + element, shape)}, {expression(case, element, shape)} + 0{chosen})"
    )


def looped(case):
    """Write a loop of a known or unknown number of turns."""
    targets = case.some_targets()
    many = f"({expression(case, 'int32')} & 3)"
    bounds = case.random.choice(
        (f"{many} + 1", f"{many} + 1", "3", f"zero - 1, {many}", "5, zero, -2", f"1, {many} + 4, 2")
    )
    function = case.random.choice(("range", "range", "range", "tl.range"))
    if case.chance(0.1):
        function, bounds = "tl.static_range", "2"
    counter = case.new("k", "int32")
    with case.nested(f"for {counter} in {function}({bounds}):", targets):
        if function == "tl.static_range":
            case.constants.add(counter)
        else:
            case.constants -= set(targets)
        _turn(case, targets)
    del case.types[counter]
    if function != "tl.static_range":
        case.constants -= set(targets)


def repeated(case):
    """Write a `while` that counts, anywhere in its body, and may ask for something else too."""
    targets = case.some_targets()
    counter = case.new("n", "int32")
    case.write(f"{counter} = {case.random.choice(('zero', '$0'))}")
    limit = case.random.choice(("$3", f"({expression(case, 'int32')} & 3) + 1"))
    case.write(f"{counter}_end = {limit} + zero")
    wanted = f"({counter} < {counter}_end)"
    extra = f" & {condition(case)}" if case.chance(0.3) else ""
    with case.nested(f"while {wanted}{extra}:", targets):
        case.constants -= set(targets)
        begin = len(case.lines)
        _turn(case, targets)
        tops = [n for n in range(begin, len(case.lines) + 1) if _is_top(case, n)]
        case.lines.insert(case.random.choice(tops), "    " * case.depth + f"{counter} += 1")
    case.constants -= set(targets)


def _is_top(case, number):
    """Return whether a line at this place would stand in the innermost block, before no `else`."""
    if number == len(case.lines):
        return True
    line, indent = case.lines[number], "    " * case.depth
    return line.startswith(indent) and line[len(indent)] != " " and not line.startswith(f"{indent}else")


def _turn(case, targets):
    """Write the body of a loop, which assigns each target, so that it is carried."""
    begin = len(case.lines)
    block(case, case.random.randrange(2, 6))
    text = "\n".join(case.lines[begin:])
    for name in targets:
        if not re.search(rf"\b{name}\b.* (\+)?= ", text):
            kept = case.targets
            case.targets = [name]
            case.random.choice((moved, assigned))(case)
            case.targets = kept


def branched(case):
    targets = case.some_targets()
    with case.nested(f"if {condition(case)}:", targets):
        block(case, case.random.randrange(1, 4))
        assigned(case)
    if case.chance(0.6):
        with case.nested("else:", targets):
            block(case, case.random.randrange(1, 4))
            moved(case)


SIMPLE = [*[moved] * 5, *[assigned] * 3, *[exchanged] * 2, defined, stored]
STATEMENTS = [*SIMPLE, *[looped] * 3, *[repeated] * 2, *[branched] * 2]
