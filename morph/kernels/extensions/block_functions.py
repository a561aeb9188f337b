"""Which kernels are compiled as functions of a whole block too, and these functions.

A launch takes such a function in the place of threads that wait for each other, unless it is checked or
shuffled.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator

from morph.kernels.extensions import builtins, callees, entries, launches, regions
from morph.kernels.extensions.source import Edits, Source
from morph.kernels.extensions.statements import NotSplit, Statements, parts

SUFFIX = "_morph_regions"
_NOTED = re.compile(r'/\* regions of (\w+), lines (\d+) to (\d+) of "(.*)" \*/')
_MOST = 20_000  # characters of a kernel's body
# What waits otherwise than by __syncthreads(), depends on the pace of threads, or reports where one is.
_OTHERWISE = re.compile(
    r"__shfl|__sync(?!threads\s*\(\s*\))|__ballot|__any\b|__any_|__all\b|__all_|__match_|__reduce_|__activemask|__nanosleep"
    r"|__threadfence|__assert_fail|__trap|\basm\b|__asm|\bvolatile\b|\batomic(?!Add\b|Sub\b|Min\b|Max\b|Inc\b|Dec\b)[A-Z]\w*"
    r"|\bcooperative_groups\b|\bthis_thread_block\b|\bthis_grid\b|\btiled_partition\b|\bcoalesced_threads\b|\bthread_block\b"
    r"|\bcub\s*::|\bthrust\s*::|(?<!:)\bcuda\s*::|\bnvcuda\b|\bwmma\b|__pipeline_|\bclock(?:64)?\s*\(|\bgoto\b|\bmorph_"
    r"|\b(?:tex[123]D|texCubemap|tex1Dfetch|tex2Dgather|surf[123]D|surfCubemap)\w*|\bcurand_init\b|\bLaneId\b|\bWarpId\b"
)
_WAITS = re.compile(rf"{_OTHERWISE.pattern}|__syncthreads")
_OF_THREAD = re.compile(rf"(?<![\w.])(?:{'|'.join(builtins.PLACES)})(?!\w)")
_SPINS = re.compile(
    r"\batomic[A-Z].*\b(?:while|do|for\s*\(\s*;\s*;)|\b(?:while|do|for\s*\(\s*;\s*;).*\batomic[A-Z]",
    re.DOTALL,
)
_VARIABLE = re.compile(
    r"__(?:(?P<shared>shared)|device|managed)__(?:\s*(?:struct|union|class)\b[\w\s]*(?P<type>\{))?"
)
_SIMPLE = re.compile(r"(?:[^;({=\[]|\[[^\]]*\])*")
_ALIGNED = re.compile(r"\b(?:__attribute__|alignas)\s*\((?:[^()]|\((?:[^()]|\([^()]*\))*\))*\)")
_LINES = re.compile(r"^#[^\n]*\n?", re.MULTILINE)  # of the preprocessor
_HEAD = re.compile(r"\s*(?:(?:static|inline|__inline__|__forceinline__|void)\b\s*)*\Z")
_BOUNDS = re.compile(r"__launch_bounds__\s*\((?P<most>(?:[^(),]|\([^()]*\))*)(?:,(?:[^()]|\([^()]*\))*)?\)")
_LAMBDA = re.compile(r"\[[^\]]*\]\s*(?P<device>__device__)?\s*(?:\([^()]*\))?\s*(?:mutable\s*)?(?:->.*)?\Z")
_TYPE = re.compile(r"\b(?:struct|class|union)\s+(?:__attribute__\s*\(\(.*?\)\)\s*)?(\w+)")
_ALIAS = re.compile(
    r"\s*(?:template\s*<[^;]*>\s*)?(?:using\s+(\w+)\s*=|namespace\s+(\w+)\s*=|typedef\b[^;]*?(\w+)\s*\Z)",
    re.DOTALL,
)
_USING = re.compile(r"\s*using\s+(namespace\s+)?(?:\w+\s*::\s*)*(\w+)\s*\Z")
_NO_NAMES = {
    "if",
    "for",
    "while",
    "switch",
    "alignas",
    "__attribute__",
    "__launch_bounds__",
    "decltype",
    "noexcept",
}
_PARAMETER = re.compile(r"(\w+)\s*(?:\[[^\]]*\]\s*)?\Z")
_LAUNCHED = re.compile(r"((?:\w+\s*::\s*)*)(\w+)(\s*<.*>)?\Z", re.DOTALL)


def not_compiled(text: str, problem: str) -> set[str]:
    """Return the kernels whose functions a compiler does not take.

    Args:
        text: The translated source.
        problem: What the compiler says of it.
    """
    names = set(re.findall(rf"(\w+){SUFFIX}", problem))
    lines = {(match[1], int(match[2])) for match in re.finditer(r"^([^\n:]+):(\d+):", problem, re.MULTILINE)}
    for name, first, last, file in _NOTED.findall(text):
        if any((file, line) in lines for line in range(int(first), int(last) + 1)):
            names.add(name)
    return names


class BlockFunctions:
    """The functions of blocks that a source gets.

    Args:
        source: The source.
        but: The kernels that stay as they are.
    """

    def __init__(self, source: Source, but: Collection[str] = ()) -> None:
        self._source = source
        self._ends: dict[str, int] = {}
        self._texts: dict[int, tuple[str, str]] = {}  # by where the kernel ends: its name, and the function
        bodies = list(entries.bodies(source))
        if not bodies:
            return
        try:
            self._variables = set(_variables(source))
        except NotSplit:  # a variable that is not understood
            return
        self._with_addresses = set(callees.with_addresses(source))
        suspects = self._suspects()
        if suspects is None:
            return
        without = set(but)
        for start, called, opening in bodies:
            end = source.close(opening) + 1
            try:
                if called[1] in without:
                    continue
                self._texts[end] = called[1], self._function(start, called, opening, suspects)
                self._ends[called[1]] = max(end, self._ends.get(called[1], 0))
            except NotSplit:
                without.add(called[1])
        self._ends = {
            name: end for name, end in self._ends.items() if name not in without and self._is_one(name)
        }

    @property
    def kernels(self) -> Collection[str]:
        """The names of the kernels that have such a function."""
        return self._ends

    def add(self, edits: Edits, translated: Callable[[str], str]) -> None:
        """Put each function after its kernel.

        Args:
            edits: Where they go.
            translated: Returns the text of a function as C++.
        """
        for end, (name, text) in self._texts.items():
            if name in self._ends:
                file, line = self._source.line(end)
                edits.replace(end, end, f'\n{translated(text)}# {line} "{file}"\n')

    def of(self, kernel: str, place: int) -> str | None:
        """Return the name of the function for what is launched at a place, with its template's arguments."""
        launched = _LAUNCHED.match(kernel)
        if not launched or not 0 < self._ends.get(launched[2], 0) <= place:
            return None
        return f"{launched[1]}{launched[2]}{SUFFIX}{launched[3] or ''}"

    def _function(self, start: int, called: re.Match[str], opening: int, suspects: set[str]) -> str:
        source = self._source
        closing = source.close(opening)
        body = source.code[opening:closing]
        if len(body) > _MOST or _OTHERWISE.search(body) or _SPINS.search(body):
            raise NotSplit("it waits otherwise")
        words = re.findall(r"\b[A-Za-z_]\w*", source.code[start:closing])
        if not suspects.isdisjoint(words):
            raise NotSplit("it calls what waits")
        if "__syncthreads" in words and not self._with_addresses.isdisjoint(words):
            raise NotSplit("it calls what may remember where a variable is")
        before = entries.before(source, start)
        between = source.code[start + len("__global__") : called.start()]
        is_plain = _HEAD.match(_BOUNDS.sub("", between)) and "void" in between
        if not is_plain or re.search(r"\btemplate\s*<\s*>", before):
            raise NotSplit("it is declared in a way that is not understood")
        copy = Source(_LINES.sub("", source.text[start - len(before) : closing + 1]))
        (file, first), (_, last) = source.line(start), source.line(closing)
        note = f'/* regions of {called[1]}, lines {first} to {last} of "{file}" */'
        return f"{note}\n{self._written(copy, called[1], opening + 1, closing)}"

    def _written(self, copy: Source, name: str, body_start: int, body_end: int) -> str:
        start, called, _ = next(entries.bodies(copy))
        spans = list(launches.arguments_of(copy, called.end() - 1))
        names = [_PARAMETER.search(copy.code[slice(*each)].split("=")[0].strip()) for each in spans]
        if not all(names) and copy.code[slice(*spans[0])].strip():
            raise NotSplit("its parameters are not understood")
        parameters = [each[1] for each in names if each]
        body = regions.Body(self._source, body_start, body_end, parameters, self._variables)
        given = copy.text[called.end() : copy.close(called.end() - 1)]
        between = copy.text[start + len("__global__") : called.start(1)]
        bounds = "".join(
            f'::morph_cuda::bound_threads({each[1]}, "{name}");\n' for each in _BOUNDS.finditer(between)
        )
        head = copy.text[:start] + re.sub(r"\bvoid\b", "bool", _BOUNDS.sub("", between))
        first = "const ::morph_cuda::Regions& morph_regions" + (", " if parameters else "")
        return f"{head}{name}{SUFFIX}({first}{given}) {{\n{bounds}{body.split()}}}\n"

    def _suspects(self) -> set[str] | None:
        """Return the functions that wait, or ask where a thread is; None if one has no name."""
        names = set(callees.with_overloads(self._source))
        found = re.compile(rf"{_WAITS.pattern}|{_OF_THREAD.pattern}")
        while True:
            more = set()
            for match in found.finditer(self._source.code):
                name = self._name_around(match.start())
                if name is None:
                    return None
                more.add(name)
            more -= names | {""}
            if not more:
                return names
            names |= more
            found = re.compile(rf"\b(?:{'|'.join(map(re.escape, more))})\b")

    def _name_around(self, place: int) -> str | None:
        """Return the name of what is around a place: "" for a kernel, None where it has none."""
        source = self._source
        brace, name = source.enclosing(place), ""
        while brace >= 0:
            head = re.split(r"[;{}]", source.head(brace))[-1]
            called = [each for each in re.findall(r"(\w+)\s*\(", head) if each not in _NO_NAMES]
            lambda_, type_ = _LAMBDA.search(head), _TYPE.search(head)
            if "__global__" in head:
                return ""
            if (lambda_ and lambda_["device"]) or re.search(r"\boperator\b", head):
                return None
            if called and not lambda_:
                name = called[0]
            elif type_ and not name:
                name = type_[1]
            brace = source.enclosing(brace)
        return name or self._alias_around(place)

    def _alias_around(self, place: int) -> str | None:
        code = self._source.code
        start = max(code.rfind(each, 0, place) for each in ";{}") + 1
        statement = code[start : code.find(";", place)]
        if alias := _ALIAS.match(statement):
            return alias[1] or alias[2] or alias[3]
        if used := _USING.match(statement):
            is_namespace, name = used.groups()
            return name if not is_namespace else "" if name == "cooperative_groups" else None
        head, equals, _ = code[start:place].rpartition("=")
        if not equals or "__global__" in head:
            return ""
        while "(" in head and head.count("(") > head.count(")"):  # what a parameter is at first
            head = head[: head.rfind("(")]
        return str(re.findall(r"\w+", re.sub(r"\[[^\]]*\]", "", head))[-1])

    def _is_one(self, name: str) -> bool:
        """Return whether a name is the kernel's wherever it stands, and no variable's."""
        for match in re.finditer(rf"(?<![\w.]){name}\b", self._source.code):
            before = self._source.head(match.start(), 200)
            if re.search(r"(?:\w|>)\s*[*&]*\Z", before) and not re.search(
                r"(?:\b(?:void|return|else|do|case)|<\s*\w+\s*>)\Z", before
            ):
                return False
        return True


def _variables(source: Source) -> Iterator[str]:
    """Yield the names of the variables that several threads share."""
    code = _ALIGNED.sub(lambda match: " " * len(match[0]), source.code)
    for match in _VARIABLE.finditer(code):
        start = source.close(match.end("type") - 1) + 1 if match["type"] else match.end()
        simple = _SIMPLE.match(code, start)
        is_function = simple and (code[simple.end() : simple.end() + 1] == "(" or "operator" in simple[0])
        if match["shared"] or not is_function:
            for each in parts(code[start : Statements(source).end_of(start) - 1]):
                yield from re.findall(r"\w+", re.sub(r"\[[^\]]*\]", "", re.split(r"[={]", each)[0]))[-1:]
