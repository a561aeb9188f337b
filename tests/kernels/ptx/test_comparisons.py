"""What ``set`` writes, of every relation and type, beside the model."""

import itertools
import pathlib
import random
from collections.abc import Iterator

import pytest

from tests.kernels.ptx.model import BF16, COMPARISONS, F16, F32, F64, Format, decoded
from tests.kernels.ptx.snippets import Library

FORMATS = {"f16": F16, "bf16": BF16, "f32": F32, "f64": F64}
PAIRS = {"f16x2": "f16", "bf16x2": "bf16"}
RESULTS = {
    **dict.fromkeys(("f16", "bf16"), ("u16", "s16", "u32", "s32", "f16", "bf16")),
    **dict.fromkeys(("f32", "f64"), ("u32", "s32", "f32", "f16", "bf16")),
    **{pair: ("u32", "s32", pair) for pair in PAIRS},
}
TRUE = {"f32": 0x3F800000, "f16": 0x3C00, "bf16": 0x3F80, "u16": 0xFFFF, "s16": 0xFFFF}
SIGNED = {name: COMPARISONS[name] for name in ("eq", "ne", "lt", "le", "gt", "ge")}
UNSIGNED = {**SIGNED, **dict(zip(("lo", "ls", "hi", "hs"), [*SIGNED.values()][2:], strict=True))}
FLOATS = [(*each, to) for each in itertools.product(RESULTS, COMPARISONS) for to in RESULTS[each[0]]]
INTEGERS = [
    *((kind, relation, "u32") for kind in ("s16", "s32", "s64") for relation in SIGNED),
    *((kind, relation, "f32") for kind in ("u16", "u32", "u64") for relation in UNSIGNED),
    ("b32", "ne", "f16"),
]
FLUSHED = {
    "set.gt.ftz.u32.f32 $0, $1, $2;": (1, 0, 0),
    "set.gt.u32.f32 $0, $1, $2;": (1, 0, 0xFFFFFFFF),
    "set.eq.ftz.f16x2.f16x2 $0, $1, $2;": (0x80013C00, 0x00003C00, 0x3C003C00),
    "set.eq.s32.f16x2 $0, $1, $2;": (0x80013C00, 0x00003C00, 0x0000FFFF),
}
JOINED = [
    f"{{ .reg .pred p; setp.ne.u32 p, $3, 0; set.lt.{how}.u32.{kind} $0, $1, $2, {of}p; }}"
    for how in ("and", "or", "xor")
    for kind in ("f16x2", "s32")
    for of in ("", "!")
]


def text_of(source: str, relation: str, to: str) -> str:
    """Return the text of one instruction."""
    return f"set.{relation}.{to}.{source} $0, $1, $2;"


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> Library:
    """All texts, compiled at once."""
    texts = [*itertools.starmap(text_of, [*FLOATS, *INTEGERS]), *FLUSHED, *JOINED]
    return Library(texts, pathlib.Path(tmp_path_factory.mktemp("ptx")))


def codes(format: Format, seed: str) -> Iterator[int]:
    """Yield codes for ever, special ones often."""
    draw = random.Random(seed)
    special = [0, 1, format.infinity, format.infinity + 1, format.bias << format.mantissa]
    while True:
        code = draw.choice([draw.choice(special), draw.getrandbits(format.width - 1)])
        yield code | draw.getrandbits(1) << format.width - 1


def both(draw: Iterator[int], seed: str, count: int = 80) -> Iterator[tuple[int, int]]:
    """Yield pairs of what is drawn, some of them twice the same."""
    choice = random.Random(seed)
    for _ in range(count):
        first, second = next(draw), next(draw)
        yield first, choice.choice([first, second, second])


@pytest.mark.parametrize("source", RESULTS)
def test_floating_point_numbers(library: Library, source: str) -> None:
    half = PAIRS.get(source, source)
    format = FORMATS[half]
    for _, relation, to in (each for each in FLOATS if each[0] == source):
        text = text_of(source, relation, to)
        true = TRUE.get(PAIRS.get(to, to), 0xFFFF if source in PAIRS else 0xFFFFFFFF)
        numbers = codes(format, text)
        for (a, b), (c, d) in zip(both(numbers, text), both(numbers, text), strict=True):
            low, high = (
                true * COMPARISONS[relation](decoded(x, format), decoded(y, format))
                for x, y in ((a, b), (c, d))
            )
            width = format.width if source in PAIRS else 0
            operands = (a | c << width, b | d << width) if width else (a, b)
            expected = low | high << 16 if width else low
            assert library.run(text, *operands) == expected, (text, [hex(each) for each in operands])


@pytest.mark.parametrize("case", INTEGERS)
def test_integers(library: Library, case: tuple[str, str, str]) -> None:
    source, relation, to = case
    width, text = int(source[1:]), text_of(*case)
    draw = random.Random(text)
    drawn = iter(lambda: draw.choice([draw.getrandbits(width), draw.getrandbits(3)]), -1)
    for a, b in both(drawn, text):
        x, y = (n - (n >> width - 1 << width) if source[0] == "s" else n for n in (a, b))
        assert library.run(text, a, b) == TRUE.get(to, 0xFFFFFFFF) * UNSIGNED[relation](x, y), (a, b)


def test_subnormal_numbers(library: Library) -> None:
    for text, (a, b, expected) in FLUSHED.items():
        assert library.run(text, a, b) == expected, text


@pytest.mark.parametrize("text", JOINED)
def test_joined_with_a_predicate(library: Library, text: str) -> None:
    how = {"and": int.__and__, "or": int.__or__, "xor": int.__xor__}[text.split(".")[6]]
    negated = "!p" in text
    a, b = (0x3C000000, 0x3C003C00) if "f16x2" in text else (-1, 1)
    for given in (0, 1):
        held = [how(int(each), given ^ negated) for each in ((True, False) if "f16x2" in text else (True,))]
        expected = held[0] * 0xFFFF | held[-1] * 0xFFFF0000
        assert library.run(text, a, b, given) == expected
