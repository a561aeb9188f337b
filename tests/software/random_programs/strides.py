"""The rules of strides in plain Python: which layouts are contiguous, and the strides of views and copies."""

import math
from collections.abc import Sequence

Numbers = tuple[int, ...]


def contiguous(sizes: Sequence[int]) -> Numbers:
    """Returns the strides of a contiguous tensor."""
    strides = [1] * len(sizes)
    for dimension in range(len(sizes) - 2, -1, -1):
        strides[dimension] = strides[dimension + 1] * max(sizes[dimension + 1], 1)
    return tuple(strides)


def is_contiguous(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Returns whether elements are contiguous; dimensions of size one do not count."""
    pairs = zip(sizes, strides, contiguous(sizes), strict=True)
    return all(size == 1 or mine == expected for size, mine, expected in pairs)


def is_dense(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Returns whether some order of the dimensions makes the layout contiguous."""
    expected = 1
    for stride, size in sorted(
        (stride, size) for size, stride in zip(sizes, strides, strict=True) if size > 1
    ):
        if stride != expected:
            return False
        expected *= size
    return True


def overlaps_itself(sizes: Sequence[int], strides: Sequence[int]) -> bool:
    """Returns whether torch refuses to write here because elements are known to share memory."""
    pairs = zip(sizes, strides, strict=True)
    return not is_dense(sizes, strides) and any(size > 1 and stride == 0 for size, stride in pairs)


def of_a_result(sizes: Sequence[int], *operands: Sequence[int], number: bool = False) -> Numbers:
    """Returns the strides of the result of an elementwise operator; `number` if an operand is a number."""
    if number:
        return _in_order(sizes, operands)
    if all(is_contiguous(sizes, strides) for strides in operands):
        return contiguous(sizes)
    if all(is_dense(sizes, strides) and tuple(strides) == tuple(operands[0]) for strides in operands):
        return tuple(operands[0])
    return _in_order(sizes, operands)


def of_a_copy(sizes: Sequence[int], strides: Sequence[int]) -> Numbers:
    """Returns the strides of a copy that preserves the format."""
    return tuple(strides) if is_dense(sizes, strides) else _in_order(sizes, [strides])


def _in_order(sizes: Sequence[int], operands: Sequence[Sequence[int]]) -> Numbers:
    order = list(range(len(sizes) - 1, -1, -1))  # from the innermost dimension
    for place in range(1, len(order)):
        moving = place
        for before in range(place - 1, -1, -1):
            verdict = _compare(sizes, operands, order[before], order[moving])
            if verdict < 0:
                break
            if verdict > 0:
                order[before], order[moving] = order[moving], order[before]
                moving = before
    strides, step = [0] * len(sizes), 1
    for dimension in order:
        strides[dimension] = step
        step *= sizes[dimension]
    return tuple(strides)


def _compare(sizes: Sequence[int], operands: Sequence[Sequence[int]], inner: int, outer: int) -> int:
    for strides in operands:
        if 0 in (strides[inner], strides[outer]):
            continue
        if strides[inner] != strides[outer]:
            return -1 if strides[inner] < strides[outer] else 1
        if sizes[inner] > sizes[outer]:
            return 1
    return 0


def of_a_view(sizes: Sequence[int], strides: Sequence[int], wanted: Sequence[int]) -> Numbers | None:
    """Returns the strides of a view with the wanted sizes; None if there is no such view."""
    if math.prod(sizes) != math.prod(wanted):
        return None
    if not sizes:
        return (1,) * len(wanted)
    result, left = [0] * len(wanted), len(wanted) - 1
    base, many, seen = strides[-1], 1, 1
    for dimension in range(len(sizes) - 1, -1, -1):
        many *= sizes[dimension]
        last = dimension == 0
        if not last and (sizes[dimension - 1] == 1 or strides[dimension - 1] == many * base):
            continue
        while left >= 0 and (seen < many or wanted[left] == 1):
            result[left] = seen * base
            seen *= wanted[left]
            left -= 1
        if seen != many:
            return None
        if not last:
            base, many, seen = strides[dimension - 1], 1, 1
    return tuple(result) if left == -1 else None
