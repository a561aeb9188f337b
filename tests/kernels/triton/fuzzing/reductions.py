"""Random reductions, scans and products of matrices."""

from tests.kernels.triton.fuzzing.numbers import FLOATS, NUMBERS

REDUCTIONS = (
    *("tl.sum({{}}, {})", "tl.max({{}}, {})", "tl.min({{}}, {})", "tl.xor_sum({{}}, {})"),
    *("tl.reduce({{}}, {}, added)", "tl.reduce({{}}, {}, exclusive)", "tl.reduce({{}}, {}, larger)"),
)
SCANS = (
    "tl.cumsum({{}}, {}, reverse={})",
    "tl.cumprod({{}}, {}, reverse={})",
    "tl.associative_scan({{}}, {}, larger, reverse={})",
    "tl.associative_scan({{}}, {}, exclusive, reverse={})",
)


def reduction(program):
    a = program.pick(NUMBERS)
    if not a.shape:
        return
    axis = program.random.randrange(len(a.shape))
    text = program.random.choice(REDUCTIONS[:3] if a.type in FLOATS else REDUCTIONS)
    program.define(f"{text.format(axis)}.to(tl.{a.type})", a)


def place_of_extreme(program):
    a = program.pick(NUMBERS, is_exact=True)
    if not a.shape:
        return
    axis = program.random.randrange(len(a.shape))
    name = program.random.choice(("argmax", "argmin"))
    numbers = program.define("tl.where({} != {}, 0, {})", a, a, a)
    program.define(f"tl.{name}({{}}, {axis})", numbers)


def pair(program):
    """A reduction or scan of two tensors at once."""
    types = ("int8", "int16", "int32", "int64", "uint32")
    a = program.pick(types)
    if a is None or not a.shape:
        return
    b = program.pick(types, a.shape)
    axis = program.random.randrange(len(a.shape))
    combiner = program.random.choice(("composed", "last_of_larger"))
    if combiner == "composed":
        b = program.alike(a)
    scan = combiner == "composed" or program.random.random() < 0.5  # a reduction may change the order
    reverse = scan and program.random.random() < 0.4
    names = program.new_name("p"), program.new_name("p")
    call = f"tl.associative_scan(({a.name}, {b.name}), {axis}, {combiner}, {reverse})"
    if not scan:
        call = f"tl.reduce(({a.name}, {b.name}), {axis}, {combiner})"
    program.write(f"{', '.join(names)} = {call}")
    for name in names:
        program.define(name, a, b)


def scan(program):
    a = program.pick(("int32", "int64", "uint32", "uint64"))
    if a is None or not a.shape:
        return
    axis, reverse = program.random.randrange(len(a.shape)), program.random.random() < 0.4
    program.define(program.random.choice(SCANS).format(axis, reverse), a)


def product(program):
    a = program.pick(("int8", "float16", "bfloat16", "float32"), rank=2)
    if a is None:
        return
    fitting = [
        each
        for each in program.values
        if each.type == a.type and each.shape[:1] == a.shape[1:] and len(each.shape) == 2
    ]
    if not fitting or (a.type == "int8" and a.shape[1] < 32):
        return
    b = program.random.choice(fitting)
    type = "int32" if a.type == "int8" else "float32"
    first = program.pick((type,), (a.shape[0], b.shape[1]))
    operands = [a, b] if first is None else [a, b, first]
    text = "tl.dot({}, {}" + (", {}" if first else "") + f', input_precision="ieee", out_dtype=tl.{type})'
    program.define(text, *operands)


OPERATIONS = [*(reduction, reduction, reduction, place_of_extreme, pair, pair, scan, product, product)]
