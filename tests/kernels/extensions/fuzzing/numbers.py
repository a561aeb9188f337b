"""The integers of CUDA C++ in Python: numbers that wrap around as those of a type do."""

TYPES = {
    "int": (32, True),
    "unsigned": (32, False),
    "long long": (64, True),
    "unsigned long long": (64, False),
    "short": (16, True),
    "unsigned char": (8, False),
}
EXACT = 1024  # numbers of float stay whole and below it, so that their products are exact


def wrapped(number, type):
    """Return a number as a value of a type has it; one of float is the rest by `EXACT`, with its sign."""
    if type == "float":
        return remainder(number, EXACT)
    width, is_signed = TYPES[type]
    number &= (1 << width) - 1
    return number - (1 << width) if is_signed and number >> width - 1 else number


def unsigned(type):
    """Return the type in which an operation wraps around, wherever that of a signed type may not."""
    return "unsigned long long" if TYPES[type][0] == 64 else "unsigned"


def quotient(a, b):
    """Return a / b, rounded towards zero."""
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def remainder(a, b):
    """Return what the quotient leaves, with the sign of a."""
    return a - quotient(a, b) * b


def bits(number, width=32):
    """Return a number as the bits of an unsigned one."""
    return number & (1 << width) - 1


def lanes(word, width, is_signed=False):
    """Return the numbers of a word's lanes, the lowest first."""
    parts = [bits(word) >> at & (1 << width) - 1 for at in range(0, 32, width)]
    return [part - (part >> width - 1 << width) if is_signed else part for part in parts]


def of_lanes(numbers, width):
    """Return the word of lanes, in which each number wraps around."""
    return sum(bits(number, width) << width * place for place, number in enumerate(numbers))
