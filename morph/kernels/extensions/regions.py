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

from morph.kernels.extensions.addresses import Addresses, is_given
from morph.kernels.extensions.places import PLACE, Places
from morph.kernels.extensions.source import Source
from morph.kernels.extensions.statements import CONTROL, NotSplit, Statements, parts

_REGIONS = "morph_regions"
_BARRIER = re.compile(r"__syncthreads\s*\(\s*\)\s*;")
_WORD = re.compile(r"(?<![\w.])[A-Za-z_]\w*")
_OF_BLOCK = re.compile(r"(?:using|typedef|static_assert)\b|(?:.*\s)?__shared__\b", re.DOTALL)
_TYPE = re.compile(r"(?:struct|class|union|enum(?:\s+(?:struct|class))?)\b(?:\s*\w+)?\s*(?::[^{;=]*)?(?=\{)")
_LOOP = re.compile(r"\s*(?P<type>[\w\s:]*\b\w+)\s+(?P<name>\w+)\s*=")
_PURE = re.compile(r"(?!.*(?:\[|->|[\"'{]|\+\+|--|\bnew\b))[^=]*\Z", re.DOTALL)
# `(name) * x` may be a product, or a cast of `*x`
_READS = re.compile(r"\[|->|(?:^|[=(,+\-*/%<>&|^~?:;!]|\(\s*[A-Za-z_][\w\s:<>,*&]*\))\s*\*")
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
        rf"|(?:(?<![\w)\]&\s])|\([\w:\s<>,*]*\)|\breturn)\s*&[\s(]*{name}\b|&\s*[>)][\s(]*{name}\b"
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
        self._own = set(self._changed)  # the variables of a thread
        self._kept = {*self._changed, *variables}  # what only its thread has
        self._by_thread = {_THREAD, *self._kept}  # what differs between threads
        self._numbers = itertools.count()
        self._statements = Statements(source)
        self._places = Places(source, start, end, self._changed)
        self._addresses = Addresses()
        self._given: set[str] = set()  # variables whose values are of functions that may take addresses
        self._lines: list[str] = []

    def split(self) -> str:
        """Return the body of a function of the block.

        Raises:
            NotSplit: If it is no sequence of regions.
        """
        if re.search(r"__syncthreads\b", _BARRIER.sub("", self._whole)):
            raise NotSplit("a barrier within an expression")
        if _BARRIER.search(self._whole):
            if re.search(r"\bdecltype\b", self._whole):
                raise NotSplit("a type of a variable, which may be a reference to what is kept")
            visible = self._emit("", self._changed, []) if self._changed else []
            self._scope(self._start, self._end, visible, is_last=True)
            if self._addresses.are_stored(self._whole, self._own):
                raise NotSplit("an address of a variable of a thread")
        else:
            self._one_region()
        fits = "".join(f"if (!::morph_cuda::fits({each})) return false;\n" for each in self._places.strides)
        block = f"const ::morph_cuda::RegionThread& {PLACE} = {_REGIONS}.block(); (void){PLACE};\n"
        return "".join([block, fits, *self._lines, "return true;\n"])

    def _one_region(self) -> None:
        region = self._marked(self._start, self._places.text(self._start, self._end))
        each = "each<true>" if self._places.is_along_grid() else "each"
        way, kind = ("each_anew", " mutable") if self._changed else (each, "")
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
                self._check_names(self._names_of_block(first, after), visible, pending)
                self._lines.append(self._marked(first, self._places.text(first, after)) + "\n")
            elif not self._may_end(pending) and (constant := self._constant(first, after, self._by_thread)):
                self._check_names(self._statements.declared(first, after), visible, pending)
                self._lines.append(self._marked(first, constant) + "\n")
            else:
                declared = self._statements.declared(first, after)
                self._check_names(declared, visible)
                self._by_thread.update(declared)
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
            self._check_loop(head.end(), closing, body, inner, visible)
        elif not self._is_condition(self._code[head.end() : closing]):
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

    def _is_condition(self, code: str) -> bool:
        """Return whether all threads find the same, and it declares nothing."""
        return not re.search(r"[={;]", _COMPARED.sub("<", code)) and self._is_same(code, self._by_thread)

    def _check_loop(self, opening: int, closing: int, body: int, end: int, visible: list[_Variable]) -> None:
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
        self._check_names([declared["name"]], visible)

    def _check_names(
        self, names: list[str], visible: list[_Variable], before: Iterable[tuple[int, int]] = ()
    ) -> None:
        """Refuse names that stand for something else in what is computed anew, or in what is before them."""
        used = {word for each in visible for word in _WORD.findall(each.text)}
        used.update(word for first, last in before for word in _WORD.findall(self._code[first:last]))
        if not used.isdisjoint(names):
            raise NotSplit("a name of two variables")

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
        for first, last in statements:
            own = self._statements.declared(first, last)
            constant = self._constant(first, last, self._kept) if own else None
            lines.append(self._marked(first, constant or self._places.text(first, last)))
            if constant:
                anew.append(_Variable(own[0], constant))
            else:
                self._kept.update(own)
                self._own.update(own)
                names += self._kept_names(first, last, own, later)
        members = self._addresses.members(code)
        # in the last line of the statements, whose kernel is then named in an error
        checks = "".join(f" static_assert(!std::is_array_v<decltype({each})>);" for each in sorted(members))
        kept = self._emit("\n".join(lines) + checks, names, _needed(visible, code))
        return [*kept, *anew]

    def _may_end(self, statements: list[tuple[int, int]]) -> bool:
        return any(re.search(r"\breturn\b", self._code[first:last]) for first, last in statements)

    def _kept_names(self, start: int, end: int, own: list[str], later: str) -> list[str]:
        names = [name for name in own if _is_in(name, later)]
        declaration = self._statements.declaration(start, end)
        if not declaration:
            return names
        code = self._code[declaration.start("name") : end]
        self._addresses.arrays.update(re.findall(r"(\w+)\s*\[", code.partition("=")[0]))
        is_address = re.search(r"(?:^|[=(,{?:+])\s*&|\[\s*[&=]", code) or self._addresses.names_array(
            code.partition("=")[2]
        )
        if names and ("&" in declaration["kind"] or "static" in declaration["type"] or is_address):
            raise NotSplit("a reference or an address that lives across a barrier")
        if "*" in declaration["kind"] + code or declaration["type"].strip().endswith("auto"):
            self._addresses.pointers.update(names)
        if is_given(code, self._own):
            self._given.update(names)
        return names

    def _emit(self, code: str, names: list[str], needed: list[_Variable]) -> list[_Variable]:
        values = list(dict.fromkeys(each.values for each in needed if each.values))
        parameters = "".join(f", [[maybe_unused]] auto& {each}" for each in values)
        given = "".join(f", {each}_all" for each in values)
        before = "".join(f"{each.text}\n" for each in needed)
        number = next(self._numbers)
        own = f"morph_kept_{number}"
        types = ", ".join(self._type(each) for each in names)
        start = f"auto {own}_all = {_REGIONS}.keep(" if names else f"{_REGIONS}.each("
        result = f" return ::morph_cuda::kept_values<{types}>({', '.join(names)});" if names else ""
        self._lines.append(
            f"{start}[=](const ::morph_cuda::RegionThread& {PLACE}{parameters}) {{\n"
            f"{before}{code}{result}\n}}{given});\n"
        )
        return [
            _Variable(name, f"auto& {name} = ::morph_cuda::kept_at<{i}>({own});", own)
            for i, name in enumerate(names)
        ]

    def _type(self, name: str) -> str:
        return f"::morph_cuda::NoPointer<decltype({name})>" if name in self._given else f"decltype({name})"

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
        if _READS.search(code):
            return False
        code = _CAST.sub("", code)
        calls = set(re.findall(r"(\w+|>)\s*\(", code))
        return calls <= _CALLS and varying.isdisjoint(_WORD.findall(code))

    def _is_of_block(self, start: int, end: int) -> bool:
        type_ = _TYPE.match(self._code, start, end)
        if type_ and self._code[self._close(type_.end()) + 1 : end].strip() != ";":
            raise NotSplit("a type with its variables")
        return bool(type_ or _OF_BLOCK.match(re.split(r"[{=]", self._code[start:end])[0]))

    def _names_of_block(self, start: int, end: int) -> list[str]:
        code = self._code[start:end]
        if code.startswith("static_assert"):
            return []
        return re.findall(
            r"(\w+)\s*(?=[\[;,]|=(?!=)|\Z)", code if "__shared__" in code else code.split("{")[0]
        )


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
