"""The body of a kernel as regions between its barriers, each a loop over the threads of a block.

MCUDA (Stratton et al., LCPC 2008) and pocl do so. What all threads compute alike is computed once for the
block: the loops around barriers, and constants. A variable that lives across a barrier is computed anew where
that is cheap, and else kept for each thread.
"""

from __future__ import annotations

import dataclasses
import itertools
import re
from collections.abc import Iterable, Sequence

from morph.kernels.extensions.places import PLACE, Places
from morph.kernels.extensions.source import Source
from morph.kernels.extensions.statements import CONTROL, NotSplit, Statements, parts

_REGIONS = "morph_regions"
_BARRIER = re.compile(r"__syncthreads\s*\(\s*\)\s*;")
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_OF_BLOCK = re.compile(
    r"(?:using|typedef|static_assert|struct|enum|class|union)\b|(?:.*\s)?__shared__\b", re.DOTALL
)
_LOOP = re.compile(r"\s*(?P<type>[\w\s:]*\b\w+)\s+(?P<name>\w+)\s*=")
_PURE = re.compile(r"(?!.*(?:\[|->|[\"'{]|\+\+|--))(?!.*(?:^|[=(,+\-*/%<>&|?:])\s*\*)[^=]*\Z", re.DOTALL)
_CALLS = {"min", "max", "abs", "sizeof", "bool", "char", "short", "int", "unsigned", "long"}
_CALLS |= {"float", "double", "size_t", "int32_t", "int64_t", "uint32_t", "uint64_t"}
_CAST = re.compile(r"\bstatic_cast\s*<[^<>()]*>\s*")
_COMPARED = re.compile(r"[<>!=]=")
_ASSIGNED = r"(?:\+\+|--|(?:[-+*/%&|^]|<<|>>)?=(?!=))"
_THREAD = "threadIdx"


@dataclasses.dataclass(frozen=True)
class _Variable:
    """What a later region finds of an earlier one.

    Attributes:
        name: Its name.
        text: How it is declared there.
        values: The list of kept values that holds it; None where it is computed anew.
    """

    name: str
    text: str
    values: str | None = None


def is_changed(name: str, code: str) -> bool:
    """Return whether code may change a variable: by an assignment, or through its address."""
    pattern = (
        rf"(?:\+\+|--)\s*{name}\b|(?<![\w.])(?<!->){name}\s*(?:\.\s*\w+\s*)?{_ASSIGNED}"
        rf"|(?:(?<![\w)\]&\s])|\([\w:\s<>,*]*\))\s*&\s*{name}\b"
    )
    return re.search(pattern, code) is not None


class Body:
    """The body of a kernel.

    Args:
        source: Where it is.
        start: The place after its opening brace.
        end: The place of its closing brace.
        parameters: The names of the kernel's parameters.
        variables: The names of variables that other threads may change.
    """

    def __init__(
        self, source: Source, start: int, end: int, parameters: Sequence[str], variables: Iterable[str]
    ) -> None:
        self._code, self._close, self._line = source.code, source.close, source.line
        self._start, self._end = start, end
        self._whole = source.code[start:end]
        self._changed = [name for name in parameters if is_changed(name, self._whole)]
        self._kept = {*self._changed, *variables}  # what only its thread has
        self._by_thread = {_THREAD, *self._kept}  # what differs between threads
        self._numbers = itertools.count()
        self._statements = Statements(source)
        self._places = Places(source, start, end, self._changed)
        self._arrays: set[str] = set()  # of a thread
        self._lines: list[str] = []

    def split(self) -> str:
        """Return the body of a function of the block.

        Raises:
            NotSplit: If it is no sequence of regions.
        """
        if _BARRIER.search(self._whole):
            visible = self._emit("", self._changed, []) if self._changed else []
            self._scope(self._start, self._end, visible, is_last=True)
            self._check_pointers()
        else:
            self._one_region()
        fits = "".join(f"if (!::morph_cuda::fits({each})) return false;\n" for each in self._places.strides)
        block = f"const ::morph_cuda::RegionThread& {PLACE} = {_REGIONS}.block(); (void){PLACE};\n"
        return "".join([block, fits, *self._lines, "return true;\n"])

    def _one_region(self) -> None:
        way, kind = ("each_anew", " mutable") if self._changed else ("each", "")
        region = self._marked(self._start, self._places.text(self._start, self._end))
        self._lines.append(
            f"{_REGIONS}.{way}([=](const ::morph_cuda::RegionThread& {PLACE}){kind} {{\n{region}\n}});\n"
        )

    def _marked(self, place: int, text: str) -> str:
        """Return text with the file and line that it is from."""
        file, line = self._line(place)
        return f'# {line} "{file}"\n{text}'

    def _scope(self, start: int, end: int, visible: list[_Variable], *, is_last: bool) -> None:
        """Write the statements between two places, of which some are barriers or have them inside."""
        visible = list(visible)
        pending: list[tuple[int, int]] = []
        for first, after in self._statements.between(start, end):
            if _BARRIER.fullmatch(self._code, first, after):
                visible += self._region(pending, after, end, visible)
                pending = []
            elif _BARRIER.search(self._code, first, after):
                visible += self._region(pending, first, end, visible)
                pending = []
                self._around(first, after, visible)
            elif self._is_of_block(first, after):
                self._lines.append(self._marked(first, self._places.text(first, after)) + "\n")
            elif not self._may_end(pending) and (constant := self._constant(first, after, self._by_thread)):
                self._lines.append(self._marked(first, constant) + "\n")
            else:
                self._by_thread.update(self._statements.declared(first, after))
                pending.append((first, after))
        self._region(pending, end, end, visible, may_return=is_last)

    def _around(self, start: int, end: int, visible: list[_Variable]) -> None:
        """Write a statement with barriers inside, which all threads must run alike."""
        if self._code[start] == "{":
            self._lines.append("{\n")
            self._scope(start + 1, end - 1, visible, is_last=False)
            self._lines.append("}\n")
            return
        head = CONTROL.match(self._code, start)
        if not head or head[0].split()[0] not in ("for", "if"):
            raise NotSplit("a barrier in a statement other than a loop by for, or if")
        closing = self._close(head.end())
        body = self._statements.after_spaces(closing + 1)
        inner = self._statements.end_of(body)
        if head[0].startswith("for"):
            self._check_loop(head.end(), closing, body, inner)
        elif not self._is_same(self._code[head.end() : closing], self._by_thread):
            raise NotSplit("a barrier under a condition that differs between threads")
        self._lines.append(self._marked(start, self._places.text(start, closing + 1)))
        self._block(body, inner, visible)
        if rest := self._code[inner:end].strip():
            if not rest.startswith("else"):
                raise NotSplit("a barrier in a statement that is not understood")
            self._lines.append("else ")
            branch = self._statements.after_spaces(self._code.index("else", inner) + 4)
            self._block(branch, end, visible)

    def _block(self, start: int, end: int, visible: list[_Variable]) -> None:
        if self._code[start] == "{":
            return self._around(start, end, visible)
        self._lines.append("{\n")
        self._scope(start, end, visible, is_last=False)
        self._lines.append("}\n")

    def _check_loop(self, opening: int, closing: int, body: int, end: int) -> None:
        """Refuse a loop that threads may run differently often."""
        head = self._code[opening + 1 : closing]
        declared = _LOOP.match(head)
        if not declared or not self._is_same(head[declared.end() :], self._by_thread):
            raise NotSplit("a barrier in a loop that threads may leave at different times")
        if is_changed(declared["name"], self._code[body:end]):
            raise NotSplit("a barrier in a loop whose body changes its variable")
        others = set(re.findall(rf"(\w+)\s*{_ASSIGNED}", head)) - {declared["name"]}
        if others or declared["name"] in self._by_thread:
            raise NotSplit("a barrier in a loop with several variables")

    def _region(
        self,
        statements: list[tuple[int, int]],
        after: int,
        end: int,
        visible: list[_Variable],
        *,
        may_return: bool = False,
    ) -> list[_Variable]:
        """Write statements as a loop over the threads; return what is to be seen of it after it."""
        if not statements:
            return []
        code = " ".join(self._code[first:last] for first, last in statements)
        if not may_return and self._may_end(statements):
            raise NotSplit("a thread may end before a barrier")
        later = self._code[after:end]
        names: list[str] = []
        anew: list[_Variable] = []
        lines: list[str] = []
        declared: set[str] = set()
        for first, last in statements:
            own = self._statements.declared(first, last)
            declared.update(own)
            constant = self._constant(first, last, self._kept) if own else None
            lines.append(self._marked(first, constant or self._places.text(first, last)))
            if constant:
                anew.append(_Variable(own[0], constant))
            else:
                self._kept.update(own)
                names += self._kept_names(first, last, own, later)
        visible[:] = [each for each in visible if each.name not in declared]
        kept = self._emit("\n".join(lines), names, _needed(visible, code))
        return [*kept, *anew]

    def _may_end(self, statements: list[tuple[int, int]]) -> bool:
        return any(re.search(r"\breturn\b", self._code[first:last]) for first, last in statements)

    def _kept_names(self, start: int, end: int, own: list[str], later: str) -> list[str]:
        names = [name for name in own if _is_in(name, later)]
        declaration = self._statements.declaration(start, end)
        if not declaration:
            return names
        code = self._code[declaration.start("name") : end]
        self._arrays.update(re.findall(r"(\w+)\s*\[", code.partition("=")[0]))
        is_address = re.search(r"(?:^|[=(,{?:+])\s*&|\[\s*[&=]", code) or self._names_array(code)
        if names and ("&" in declaration["kind"] or is_address):
            raise NotSplit("a reference or an address that lives across a barrier")
        return names

    def _names_array(self, code: str) -> bool:
        return any(re.search(rf"(?<!\w){each}\b(?!\s*\[)", code.partition("=")[2]) for each in self._arrays)

    def _check_pointers(self) -> None:
        """Refuse assignments of addresses of a thread's variables, which are elsewhere after a barrier."""
        taken = re.findall(r"(?<![=!<>])=\s*(?:\([^()]*\)\s*)?&\s*(\w+)", self._whole)
        arrays = [re.search(rf"=\s*(?:\([^()]*\)\s*)?{each}\s*[+;,)]", self._whole) for each in self._arrays]
        if any(arrays) or not self._by_thread.isdisjoint(taken):
            raise NotSplit("an address of a variable of a thread")

    def _emit(self, code: str, names: list[str], needed: list[_Variable]) -> list[_Variable]:
        values = list(dict.fromkeys(each.values for each in needed if each.values))
        parameters = "".join(f", [[maybe_unused]] auto& {each}" for each in values)
        given = "".join(f", {each}_all" for each in values)
        before = "".join(f"{each.text}\n" for each in needed)
        number = next(self._numbers)
        own = f"morph_kept_{number}"
        start = f"auto {own}_all = {_REGIONS}.keep(" if names else f"{_REGIONS}.each("
        result = f"\nreturn ::morph_cuda::kept_values({', '.join(names)});" if names else ""
        self._lines.append(
            f"{start}[=](const ::morph_cuda::RegionThread& {PLACE}{parameters}) {{\n"
            f"{before}{code}{result}\n}}{given});\n"
        )
        return [
            _Variable(name, f"auto& {name} = ::morph_cuda::kept_at<{i}>({own});", own)
            for i, name in enumerate(names)
        ]

    def _constant(self, start: int, end: int, varying: set[str]) -> str | None:
        """Return a declaration of a constant that does not depend on what varies; None if it is none."""
        match = self._statements.declaration(start, end)
        if not match or "static" in match["type"] or "volatile" in match["type"]:
            return None
        code = self._code[match.start("name") : end - 1]
        name, equals, value = code.partition("=")
        is_one = (
            equals
            and len(list(parts(code))) == 1
            and name.strip() == match["name"]
            and "&" not in match["kind"]
        )
        if not is_one or is_changed(match["name"], self._code[end : self._end]):
            return None
        if not _PURE.match(_COMPARED.sub("<", value)) or not self._is_same(value, varying):
            return None
        text = self._places.text(start, end)
        is_const = re.search(r"\bconst(?:expr)?\b", match["kind"] if "*" in match["kind"] else match["type"])
        head = self._places.text(start, match.start("name"))
        return text if is_const else f"{head}const {self._places.text(match.start('name'), end)}"

    def _is_same(self, code: str, varying: set[str]) -> bool:
        """Return whether an expression is the same whenever it is computed."""
        if re.search(r"\[|->|(?:^|[=(,+\-*/%<>&|?:;!])\s*\*", code):
            return False
        code = _CAST.sub("", code)
        calls = set(re.findall(r"(\w+|>)\s*\(", code))
        return calls <= _CALLS and varying.isdisjoint(_WORD.findall(code))

    def _is_of_block(self, start: int, end: int) -> bool:
        return _OF_BLOCK.match(re.split(r"[{=]", self._code[start:end])[0]) is not None


def _is_in(name: str, code: str) -> bool:
    return re.search(rf"(?<![\w.]){name}\b", code) is not None


def _needed(visible: list[_Variable], code: str) -> list[_Variable]:
    """Return the variables that code uses, and those that these are computed from."""
    needed: list[_Variable] = []
    for each in reversed(visible):
        if _is_in(each.name, code):
            needed.insert(0, each)
            code += each.text if each.values is None else ""
    return needed
