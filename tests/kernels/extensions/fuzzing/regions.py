"""Random kernels whose threads meet at barriers, most of which are compiled as loops over threads too.

Threads read what others wrote only after a barrier; names are few, so that they hide each other.
"""

import random

THREADS = 64
SIZES = ("64", "dim3(16, 4)", "dim3(8, 2, 4)", "dim3(1, 64)")
NAMES = ("a", "b", "c", "d", "n", "i")
INTEGERS = ("int", "unsigned", "unsigned char", "short", "long long", "char", "auto", "size_t")
NUMBERS = ("int", "const", "float", "reference", "uniform")
READ = (*NUMBERS, "pair", "const pair", "array", "pointer", "gen", "function")
WORDS = {"threadIdx.x", "threadIdx.y", "blockIdx.x", "blockDim.x", "gridDim.x", "warpSize", "n", "m", "WIDTH"}

HEAD = """#include <cstdio>
#include <cstring>
#define TID ((threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x)
#define DOUBLED(x) ((x) + (x))
#define WIDTH 5
constexpr int LIMIT = 3;
struct Pair {
  int x, y;
  __device__ int sum() const { return x + y; }
  __device__ void add(int v) { x += v, y ^= v; }
  __device__ Pair operator+(const Pair& o) const { return {x + o.x, y - o.y}; }
  __device__ Pair& operator+=(int v) { x += v; return *this; }
};
struct Gen {
  unsigned state;
  __device__ int next() { return state = state * 1664525u + 1013904223u, state >> 20; }
  __device__ int operator()(int v) { return next() ^ v; }
};
struct Args { Pair pair; int table[4]; const int* in; };
__device__ int level = 7, other = 9;
__constant__ int given[4] = {3, 1, 4, 1};
__device__ int mix(int a, int b) { return a * 31 + (b ^ a >> 3); }
__device__ void bump(int& x, int by) { x += by; }
__device__ void split(int v, int* low, int* high) { *low = v & 255, *high = v >> 8 & 255; }
__device__ int total(const int* x) { return x[0] + x[1] + x[2] + x[3]; }
template <int k, class T> __device__ T times(T x) { return T(x * k); }
template <class T> __device__ void put(T& x, int v) { x = T(v); }
template <class F> __device__ int applied(F f, int v) { return f(v) + f(v + 1); }
template <class Kernel>
void show(const char* name, Kernel launch) {
  int *in, *out;
  cudaMallocManaged(&in, 64 * sizeof(int)), cudaMallocManaged(&out, 192 * sizeof(int));
  for (int i = 0; i < 64; i++) in[i] = i * i * 7 - 300;
  Args args = {{3, -4}, {5, 6, 7, 8}, in};
  launch(in, out, 6, 2, Pair{11, 12}, Gen{99}, args);
  std::printf("%s %s", name, cudaGetErrorString(cudaDeviceSynchronize()));
  for (int i = 0; i < 192; i++) std::printf(" %x", out[i]);
  std::printf("\\n");
  cudaFree(in), cudaFree(out);
}
"""


class Kernel:
    """A random kernel of a seed.

    Attributes:
        name: Its name.
        lines: It in CUDA C++.
        launch: Its launch, on the host.
    """

    def __init__(self, seed):
        self._draw = draw = random.Random(seed)
        self.name = f"kernel_{seed}"
        # by its name: a launch of a parameter has no loops
        launch = f"{self.name}<<<3, {draw.choice(SIZES)}, {THREADS * 4}>>>(given...)"
        self.launch = f'show("{self.name}", [](auto... given) {{ {launch}; }});'
        self.lines = []
        self._scopes = [{}]  # the kinds of the variables that are seen, by name
        self._is_risky, self._hiding = draw.random() < 0.2, draw.choice((0, 0, 0, 0.5))
        self._free = 0  # names that no other has
        self._own = {"s": draw.random() < 0.5, "dynamic": draw.random() < 0.5, "grid": draw.random() < 0.5}
        parameters = "const int* in, int* out, int n, int m, Pair pair, Gen gen, Args args"
        self._add(f"__global__ void {self.name}({parameters}) {{")
        self._add(f"__shared__ int s[{THREADS}], level0; __shared__ unsigned char grid[8][8];")
        self._add("extern __shared__ int dynamic[];")
        self._add(
            "unsigned acc = 1; s[TID] = TID * 3, dynamic[TID] = -TID, grid[TID / 8][TID % 8] = TID + m;"
        )
        self._add("if (TID == 0) level0 = 4;")
        self._add("__syncthreads();")
        self._some(5, 1)
        self._together(draw.randint(3, 6), 2)
        self._add("__syncthreads();")
        if draw.random() < 0.3:
            self._add(f"if ({self._value()} % 3 == 0) {{ out[blockIdx.x * {THREADS} + TID] = acc; return; }}")
        self._some(2, 2)
        self._hash()
        self._add(f"out[blockIdx.x * {THREADS} + TID] = acc; }}")

    def _add(self, text):
        self.lines.append(text)

    def _pick(self, *made):
        return self._draw.choice(made)

    def _new(self):
        """Return a name that the scope has not, but one around it may have."""
        names = [name for name in NAMES if name not in self._scopes[-1]]
        if len(self._scopes) == 1:
            names = [name for name in names if name != "n"]
        if names and self._draw.random() < self._hiding or len(self._scopes) == 1 and names:
            return self._draw.choice(names)
        self._free += 1
        return f"v{self._free}"

    def _seen(self, *kinds):
        seen = {}
        for scope in self._scopes:
            seen |= scope
        return [name for name, kind in seen.items() if kind in kinds]

    def _some_of(self, *kinds):
        seen = self._seen(*kinds)
        return self._draw.choice(seen) if seen else None

    def _hides(self, name):
        return any(name in scope for scope in self._scopes)

    # values

    def _value(self, depth=2):
        if depth <= 0 or self._draw.random() < 0.2:
            return self._leaf()
        a, b = self._value(depth - 1), self._value(depth - 1)
        return self._pick(
            f"({a} {self._pick('+', '-', '*', '&', '|', '^')} {b})",
            f"({a} / (({b} & 7) + 1))",
            f"({a} << ({b} & 7))",
            f"({a} {self._pick('<', '>', '==', '!=', '<=', '>=')} {b} ? {b} : {a})",
            f"int({a})",
            f"(int)({a})",
            f"static_cast<short>({a})",
            f"-({a})",
            f"~({a})",
            f"mix({a}, {b})",
            f"times<{self._pick(2, 3)}>(int({a}))",
            f"min(int({a}), int({b}))",
            f"max({self._leaf()} & 255, 7)",
            f"DOUBLED({self._leaf()})",
            f"(!{self._leaf()} || {self._leaf()} && {self._leaf()})",
        )

    def _leaf(self):
        kind = self._draw.random()
        if kind < 0.45 and (name := self._some_of("int", "const", "float", "reference")):
            return f"int({name})" if self._kind(name) == "float" else name
        if kind < 0.55 and (
            name := self._some_of("pair", "const pair", "array", "pointer", "function", "gen")
        ):
            return self._part(name)
        if kind < 0.7:
            return self._memory()
        if kind < 0.85:
            words = [word for word in sorted(WORDS) if not self._hides(word)]
            return f"int({word})" if "." in (word := self._draw.choice(words)) else word
        return str(self._pick(0, 1, 2, 3, 10, 255, "'a'", "0x7f", "LIMIT", "sizeof(int)", "given[2]"))

    def _kind(self, name):
        return next(scope[name] for scope in reversed(self._scopes) if name in scope)

    def _part(self, name):
        place = f"{self._draw.randint(0, 3)}"
        return {
            "pair": self._pick(f"{name}.x", f"{name}.y", f"{name}.sum()"),
            "const pair": self._pick(f"{name}.x", f"{name}.sum()"),
            "array": self._pick(f"{name}[{place}]", f"{name}[TID & 3]", f"total({name})"),
            "pointer": self._pick(f"*{name}", f"{name}[0]"),
            "function": f"{name}({place})",
            "gen": f"int({name}.state)",
        }[self._kind(name)]

    def _memory(self):
        at = self._pick("TID", f"({self._simple()} & 63)", f"(TID + {self._draw.randint(1, 63)}) % 64")
        s = "TID" if self._own["s"] else at
        dynamic = "TID" if self._own["dynamic"] else at
        row, column = ("TID / 8", "TID % 8") if self._own["grid"] else (f"({at}) / 8", f"({at}) % 8")
        forms = [f"s[{s}]", f"dynamic[{dynamic}]", f"grid[{row}][{column}]", f"in[{at}]", f"(*(in + {at}))"]
        forms += ["pair.x", "args.pair.y", "args.table[2]", "args.in[3]", "pair.sum()", "other", "level"]
        return self._draw.choice([*forms, "level0", "level0"])

    def _simple(self):
        return self._some_of("const", "int") or "m"

    # what a thread does by itself

    def _some(self, most, depth, in_loop=False):
        for _ in range(self._draw.randint(1, most)):
            self._one(depth, in_loop)

    def _one(self, depth, in_loop=False):
        kinds = [self._declare] * 4 + [self._change] * 4 + [self._store] * 2
        if depth > 0:
            kinds += [self._if, self._for, self._while, self._switch, self._block]
        if in_loop and self._draw.random() < 0.2:
            return self._add(f"if ({self._value()} % 3 == 1) {self._pick('break', 'continue')};")
        made = self._draw.choice(kinds)
        return (
            made(depth - 1)
            if made in (self._if, self._for, self._while, self._switch, self._block)
            else made()
        )

    def _scope(self, head, fill, tail="}", names=()):
        self._add(head)
        self._scopes.append(dict(names))
        fill()
        self._scopes.pop()
        self._add(tail)

    def _if(self, depth):
        self._scope(f"if ({self._value()} & 1) {{", lambda: self._some(3, depth))
        if self._draw.random() < 0.5:
            self._scope("else {", lambda: self._some(3, depth))

    def _block(self, depth):
        self._scope("{", lambda: self._some(3, depth))

    def _for(self, depth):
        name, first = self._new(), self._draw.randint(0, 2)
        self._scopes.append({name: "hidden", "last": "hidden"})
        last = self._leaf()
        self._scopes.pop()
        head = f"for (int {name} = {first}, last = int({last}) & 3; {name} < last; {name}++) {{"
        self._scope(head, lambda: self._some(3, depth, in_loop=True), names={name: "const", "last": "const"})

    def _while(self, depth):
        self._free += 1
        name = f"w{self._free}"
        self._add(f"unsigned {name} = {self._value(1)} & 3u;")
        if self._draw.random() < 0.5:
            self._scope(f"while ({name}-- > 0) {{", lambda: self._some(3, depth, in_loop=True))
        else:
            self._scope("do {", lambda: self._some(3, depth, in_loop=True), f"}} while ({name}-- > 0);")

    def _switch(self, depth):
        self._add(f"switch (unsigned({self._value()}) % 4u) {{")
        for number in range(3):
            self._scope(f"case {number}: {{", lambda: self._some(2, depth), self._pick("}", "} break;"))
        self._add(self._pick("default: acc += 3; }", "}"))

    def _store(self):
        value = self._value()
        target = self._draw.choice(
            ["acc"]
            + ["s[TID]"] * self._own["s"]
            + ["dynamic[TID]"] * self._own["dynamic"]
            + ["grid[TID / 8][TID % 8]"] * self._own["grid"]
        )
        self._add(
            self._pick(f"{target} = acc * 31u + {value};", f"{target} += {value};", f"{target} ^= {value};")
        )

    def _change(self):
        name = self._some_of("int", "float", "reference", "pair", "array", "pointer", "gen", "pointer to own")
        value = self._value()
        if name is None:
            return self._store()
        place = f"[{self._pick('TID & 3', '1', '2')}]"
        forms = {
            "int": [f"{name} = {value};", f"{name} += {value};", f"{name}++;", f"--{name};", f"{name} <<= 1;"]
            + [f"acc += {name}++ + 1;", f"acc ^= {name} = {value};", f"acc++, {name} ^= {value}, acc += 2;"]
            + [f"put({name}, {value});", f"({name}) = {value};", f"if ({value} & 2) {name} = {value};"]
            + [f"[&] {{ {name} = {value}; }}();", f"for (int k = 0; k < 3; {name} += k++);"]
            + self._is_risky * [f"acc += applied([&](int z) {{ {name} ^= z; return z; }}, {value});"],
            "float": [f"{name} = float({value} & 1023);", f"{name} = {name} < 512 ? {name} + 1 : 3;"],
            "reference": [f"{name} = {value};", f"{name} += {value};"],
            "pair": [f"{name}.x = {value};", f"{name}.y++;", f"{name}.add({value});", f"{name} += {value};"]
            + [f"{name} = {name} + Pair{{1, int({value})}};", f"split({value}, &{name}.x, &{name}.y);"]
            + [f"bump({name}.x, {value});", f"std::memcpy(&{name}.x, &{name}.y, 4);"],
            "array": [f"{name}{place} = {value};", f"{name}{place}++;", f"bump({name}{place}, {value});"]
            + [f"split({value}, {name}, {name} + 1);", f"for (int& z : {name}) z += {value};"],
            "pointer": [f"acc += *{name};", f"acc ^= {name}[0];"],
            "pointer to own": [f"*{name} += {value};", f"bump(*{name}, {value});"],
            "gen": [f"acc += {name}.next();", f"acc ^= {name}({value});", f"acc += applied({name}, 3);"],
        }
        return self._add(self._draw.choice(forms[self._kind(name)]))

    def _declare(self):
        name = self._new()
        self._scopes[-1][name] = "hidden"  # what its value does not name
        value = self._value()
        type, leaf = self._draw.choice(INTEGERS), self._leaf()
        if type == "auto":  # no bool, which C++ does not count up
            value, leaf = f"{value} + 0", f"{leaf} + 0"
        forms = [
            ("int", f"{type} {name} = {value};"),
            ("int", f"{type} {name} = {leaf};"),
            ("int", f"{self._pick('int', 'unsigned')} {name}; {name} = {value};"),
            ("int", f"int {name}({value});"),
            ("int", f"int {name}{{int({value})}};"),
            ("const", f"const {type} {name} = {value};"),
            ("const", f"bool {name} = {value} & 1;"),
            ("const", f"const {type} {name} = {leaf};"),
            ("const", f"{type} {name} = {self._pick('TID', 'threadIdx.x', 'threadIdx.x + blockIdx.x * m')};"),
            ("const", f"{type} const {name} = {value};"),
            ("float", f"{self._pick('float', 'double')} {name} = float({value} & 1023);"),
            ("pair", f"{self._pick('Pair', 'struct Pair', 'auto')} {name} = Pair{{int({value}), 2}};"),
            ("pair", f"Pair {name} = pair;"),
            ("pair", f"Pair {name}; {name}.x = {value}, {name}.y = 1;"),
            ("pair", f"struct Pair {name} = {{int(threadIdx.x), int({value})}};"),
            ("const pair", f"const Pair {name} = pair;"),
            ("const pair", f"const auto {name} = args.pair;"),
            ("array", f"int {name}[4] = {{int({value}), 2, m}};"),
            ("gen", f"Gen {name} = {{unsigned({value})}};"),
            ("pointer", f"const int* {name} = in + ({value} & 31);"),
            ("pointer", f"const int* {name}; {name} = in + (TID & 15);"),
            ("pointer", f"auto {name} = args.in + 5;"),
            ("pointer", f"const int* {name} = args.table + {self._pick('1', '(TID & 1)')};"),
        ]
        if self._is_risky:
            forms += [("gen", f"Gen {name} = gen;")]
            forms += [("int", f"int {name} = 3, *p{name} = &{name}; *p{name} += 2;")]
            forms += [("function", f"auto {name} = [=](int z) {{ return z * 3 + {value}; }};")]
        if other := self._some_of("int"):
            forms += [
                ("int", f"int {name} = {other} = {value};"),
                ("int", f"int {name} = {other}++;"),
            ]
        if self._is_risky:
            forms += self._risks(name, value)
        kind, text = self._draw.choice(forms)
        self._add(text)
        self._scopes[-1][name] = kind

    def _risks(self, name, value):
        """Return declarations for which kernels mostly stay as they are."""
        self._free += 1
        forms = [
            ("const", f"auto [{name}, y{self._free}] = pair;"),
            ("const", f"static const int {name} = 12;"),
            ("const", f"enum Color{self._free} {{ red{self._free}, {name} }};"),
            ("int", f"decltype(m) {name} = {value};"),
            ("int", f"alignas(16) int {name} = {value};"),
            ("int", f"int ({name}) = {value};"),
            (
                "pair",
                f"struct {{ int x, y; int sum() {{ return x; }} void add(int v) {{ x += v; }} }} {name};",
            ),
        ]
        if array := self._some_of("array"):
            forms += [("pointer to own", f"int* {name} = {self._pick('1 + ', '&*', '')}{array};")]
            forms += [("pointer to own", f"int* {name}; {name} = TID & 1 ? {array} : {array} + 1;")]
        if pair := self._some_of("pair"):
            forms += [
                ("pointer to own", f"int* {name} = &{pair}.x;"),
                ("reference", f"int& {name} = {pair}.y;"),
            ]
        return forms[:-3] if len(forms) > 9 else [each for each in forms if each[0] != "pair"]

    # what the threads of a block do together

    def _barrier(self):
        self._add("__syncthreads();")
        for name in self._draw.sample(seen := self._seen(*READ), min(2, len(seen))):
            self._use(name)
        self._own = {name: self._draw.random() < 0.5 for name in self._own}

    def _together(self, most, depth):
        for _ in range(self._draw.randint(3, most)):
            kinds = [self._barrier] * 4 + [lambda: self._some(3, 2)] * 4 + [self._uniform, self._set_level]
            kinds += [self._around] * 3 if depth > 0 else []
            made = self._draw.choice(kinds)
            made(depth - 1) if made == self._around else made()

    def _set_level(self):
        """Change what all threads read, between barriers."""
        own = self._own
        name, value = self._pick("level0", "level0"), self._draw.randint(1, 6)
        self._add(f"__syncthreads(); if (TID == 0) {name} = {value}; __syncthreads();")
        self._own = own

    def _uniform(self):
        """Declare what is the same for all threads."""
        name = self._new()
        word = self._pick("n", "m", "blockIdx.x", "gridDim.x", "pair.x", "LIMIT", "args.pair.y")
        word = "m" if word == "n" and (name == "n" or self._hides("n")) else word
        self._add(
            f"{self._pick('int', 'const int', 'auto', 'const auto')} {name} = {word} + {self._pick(1, 'm')};"
        )
        self._scopes[-1][name] = self._pick("const", "uniform")

    def _bound(self):
        name = self._some_of("uniform") if self._draw.random() < 0.6 else None
        return name or self._pick("m", "LIMIT", "3", "blockIdx.x + 1", "gridDim.x", "args.pair.x")

    def _around(self, depth):
        kept = dict(self._own)
        name, kinds = self._new(), ("for", "for", "down", "if", "block", "else", "alone")
        kind = self._draw.choice((*kinds, "while", "init") if self._is_risky else kinds)
        self._scopes.append({name: "hidden"})
        bound = self._bound()
        self._scopes.pop()

        def fill():
            self._some(2, 1)
            self._together(3, depth)
            self._barrier()
            self._own = dict(kept)

        heads = {
            "for": f"for ({self._pick('int', 'unsigned')} {name} = 0; {name} < ({bound} & 3); {name}++) {{",
            "down": f"for (int {name} = ({bound} & 7); {name} > 0; {name} >>= 1) {{",
            "if": f"if ({bound} % 2 == 0) {{",
            "else": f"if ({bound} & 1) {{",
            "block": "{",
            "alone": f"for (int {name} = 0; {name} < 2; ++{name}) if ({bound} > 1) {{",
            "while": f"for (int {name} = 0, z = 2; {name} < z; {name}++) {{",
            "init": f"if (int {name} = {bound}) {{",
        }
        self._scope(heads[kind], fill, names={} if kind in ("if", "else", "block") else {name: "uniform"})
        if kind == "else":
            self._scope("else {", fill)
        self._own = kept

    def _hash(self):
        for name in self._seen(*READ):
            self._use(name)

    def _use(self, name):
        value = name if self._kind(name) in NUMBERS else self._part(name)
        self._add(f"acc = acc * 31u + int({value});")


def source(kernels):
    """Return the program that launches kernels and prints what they stored."""
    kernels = list(kernels)
    lines = [line for kernel in kernels for line in kernel.lines]
    launches = [f"  {kernel.launch}" for kernel in kernels]
    return "\n".join([HEAD, *lines, "int main() {", *launches, "}", ""])
