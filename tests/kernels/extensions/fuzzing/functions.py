"""The intrinsics of integers, and functions of random kernels' own, in Python."""

import operator

from tests.kernels.extensions.fuzzing.numbers import bits, lanes, of_lanes, wrapped

INT, WORD, LONG, WIDE = "int", "unsigned", "long long", "unsigned long long"


def _permuted(a, b, choices):
    both = lanes(a, 8) + lanes(b, 8)
    return of_lanes([both[choices >> 4 * place & 7] for place in range(4)], 8)


def _dot(width, first, is_signed):
    """Return the sum of products of one word's lanes with bytes of another."""

    def dot(a, b, c):
        pairs = zip(lanes(a, width, is_signed), lanes(b, 8, is_signed)[first:], strict=False)
        return sum(x * y for x, y in pairs) + c

    return dot


def _reversed(a, width):
    return int(f"{bits(a, width):0{width}b}"[::-1], 2)


def _first(a):
    return (a & -a).bit_length()


def _24(a):
    return (a & 0xFFFFFF) - (1 << 24 if a & 0x800000 else 0)


def _lowest(a, b):
    a, b = a & 1023, b & 1023
    while b:
        a, b = b, a % b
    return a


# what a call returns, of which types its arguments are, and the same in Python
FUNCTIONS = {
    "__popc": (INT, (WORD,), int.bit_count),
    "__popcll": (INT, (WIDE,), int.bit_count),
    "__clz": (INT, (INT,), lambda a: 32 - bits(a).bit_length()),
    "__clzll": (INT, (LONG,), lambda a: 64 - bits(a, 64).bit_length()),
    "__ffs": (INT, (INT,), lambda a: _first(bits(a))),
    "__ffsll": (INT, (LONG,), lambda a: _first(bits(a, 64))),
    "__brev": (WORD, (WORD,), lambda a: _reversed(a, 32)),
    "__brevll": (WIDE, (WIDE,), lambda a: _reversed(a, 64)),
    "min": (INT, (INT, INT), min),
    "max": (WORD, (WORD, WORD), max),
    "umin": (WORD, (WORD, WORD), min),
    "llmax": (LONG, (LONG, LONG), max),
    "ullmin": (WIDE, (WIDE, WIDE), min),
    "__mulhi": (INT, (INT, INT), lambda a, b: a * b >> 32),
    "__umulhi": (WORD, (WORD, WORD), lambda a, b: a * b >> 32),
    "__mul64hi": (LONG, (LONG, LONG), lambda a, b: a * b >> 64),
    "__umul64hi": (WIDE, (WIDE, WIDE), lambda a, b: a * b >> 64),
    "__mul24": (INT, (INT, INT), lambda a, b: _24(a) * _24(b)),
    "__umul24": (WORD, (WORD, WORD), lambda a, b: (a & 0xFFFFFF) * (b & 0xFFFFFF)),
    "__sad": (WORD, (INT, INT, WORD), lambda a, b, c: abs(a - b) + c),
    "__usad": (WORD, (WORD, WORD, WORD), lambda a, b, c: abs(a - b) + c),
    "__hadd": (INT, (INT, INT), lambda a, b: a + b >> 1),
    "__rhadd": (INT, (INT, INT), lambda a, b: a + b + 1 >> 1),
    "__uhadd": (WORD, (WORD, WORD), lambda a, b: a + b >> 1),
    "__urhadd": (WORD, (WORD, WORD), lambda a, b: a + b + 1 >> 1),
    "__byte_perm": (WORD, (WORD, WORD, WORD), _permuted),
    "__funnelshift_l": (WORD, (WORD,) * 3, lambda a, b, n: (b << 32 | a) << (n & 31) >> 32),
    "__funnelshift_lc": (WORD, (WORD,) * 3, lambda a, b, n: (b << 32 | a) << min(n, 32) >> 32),
    "__funnelshift_r": (WORD, (WORD,) * 3, lambda a, b, n: (b << 32 | a) >> (n & 31)),
    "__funnelshift_rc": (WORD, (WORD,) * 3, lambda a, b, n: (b << 32 | a) >> min(n, 32)),
    "(int)__dp4a": (INT, (INT, INT, INT), _dot(8, 0, True)),
    "__dp4a": (WORD, (WORD, WORD, WORD), _dot(8, 0, False)),
    "__dp2a_lo": (INT, (INT, INT, INT), _dot(16, 0, True)),
    "__dp2a_hi": (WORD, (WORD, WORD, WORD), _dot(16, 2, False)),
    "__viaddmax_s32": (INT, (INT, INT, INT), lambda a, b, c: max(wrapped(a + b, INT), c)),
    "__viaddmin_u32": (WORD, (WORD, WORD, WORD), lambda a, b, c: min(bits(a + b), c)),
    "__vimin3_s32_relu": (INT, (INT, INT, INT), lambda a, b, c: max(min(a, b, c), 0)),
    "mixed": (WORD, (WORD, WORD), lambda a, b: (a ^ b >> 3) * 2654435761),
    "folded<int, 3>": (INT, (INT, INT), lambda a, b: a * 27 + b * 13),
    "folded<long long, 2>": (LONG, (LONG, LONG), lambda a, b: a * 9 + b * 4),
    "lowest": (INT, (INT, INT), _lowest),
}
# the functions of the table that are no others'
PRELUDE = """
#define MIXED(a, b) (((a) ^ (b) >> 3) * 2654435761u)
__device__ __forceinline__ unsigned mixed(unsigned a, unsigned b) { return MIXED(a, b); }
template <typename T, int times> __device__ T folded(T a, const T& b) {
  using U = typename std::make_unsigned<T>::type;
  U sum = U(a);
#pragma unroll
  for (int i = 0; i < times; ++i) sum = sum * 3 + U(b);
  return T(sum);
}
__device__ __noinline__ int lowest(int a, int b) {
  a &= 1023, b &= 1023;
  while (b) { const int rest = a % b; a = b; b = rest; }
  return a;
}
"""


def _clamped(number, width, is_signed):
    low, high = (-(1 << width - 1), (1 << width - 1) - 1) if is_signed else (0, (1 << width) - 1)
    return min(max(number, low), high)


# of the numbers of two lanes, and whether a function's name ends in the letter of their sign
OF_LANES = {
    "add": lambda x, y: x + y,
    "sub": lambda x, y: x - y,
    "absdiff": lambda x, y: abs(x - y),
    "max": max,
    "min": min,
    "cmpeq": lambda x, y: -(x == y),
    "setne": lambda x, y: int(x != y),
    "cmpge": lambda x, y: -(x >= y),
    "setgt": lambda x, y: int(x > y),
    "setle": lambda x, y: int(x <= y),
    "cmplt": lambda x, y: -(x < y),
}
WITHOUT_SIGN = {"add", "sub", "cmpeq", "setne"}
SATURATING = {"add": operator.add, "sub": operator.sub}
AVERAGES = {
    "avgs": lambda x, y: x + y + (x + y >= 0) >> 1,
    "avgu": lambda x, y: x + y + 1 >> 1,
    "haddu": lambda x, y: x + y >> 1,
}


def _of_lanes(of, width, is_signed):
    return lambda *words: of_lanes(map(of, *(lanes(word, width, is_signed) for word in words)), width)


def _sum_of_differences(width, is_signed):
    return lambda a, b: sum(
        abs(x - y) for x, y in zip(lanes(a, width, is_signed), lanes(b, width, is_signed), strict=True)
    )


def _functions_of_lanes(count):
    width = 32 // count
    for name, of in OF_LANES.items():
        for sign in [""] if name in WITHOUT_SIGN else ["s", "u"]:
            yield f"{name}{sign}", 2, _of_lanes(of, width, sign == "s")
    for name, of in SATURATING.items():
        for sign in ("s", "u"):
            within = lambda x, y, of=of, sign=sign: _clamped(of(x, y), width, sign == "s")  # noqa: E731
            yield f"{name}{sign}s", 2, _of_lanes(within, width, sign == "s")
    for name, of in AVERAGES.items():
        yield name, 2, _of_lanes(of, width, name == "avgs")
    for sign in ("s", "u"):
        yield f"sad{sign}", 2, _sum_of_differences(width, sign == "s")
    for name, of in {"abs": abs, "neg": operator.neg}.items():
        yield name, 1, _of_lanes(of, width, True)
        yield f"{name}ss", 1, _of_lanes(lambda x, of=of: _clamped(of(x), width, True), width, True)


def _of_pairs(of, is_signed=True):
    """Return a function of three words by that of their halves, of which sums wrap around."""
    return lambda *words: of_lanes(map(of, *(lanes(word, 16, is_signed) for word in words)), 16)


FUNCTIONS["__viaddmax_s16x2_relu"] = (
    WORD,
    (WORD, WORD, WORD),
    _of_pairs(lambda a, b, c: max(wrapped(a + b, "short"), c, 0)),
)
FUNCTIONS["__vimin3_u16x2"] = (WORD, (WORD, WORD, WORD), _of_pairs(min, is_signed=False))
for _count in (2, 4):
    for _name, _arguments, _of in _functions_of_lanes(_count):
        FUNCTIONS[f"__v{_name}{_count}"] = (WORD, (WORD,) * _arguments, _of)
