"""The functions of libnvrtc: programs, what they are compiled to, and the names in it."""

from __future__ import annotations

import ctypes
import dataclasses
import itertools
import os
import re
from collections.abc import Iterator, Sequence
from ctypes import POINTER, c_char_p, c_int, c_size_t, c_void_p
from typing import TYPE_CHECKING, Any

from morph.kernels.libraries import numbers
from morph.kernels.libraries.callbacks import Callbacks, NullPointerError, required, text
from morph.software.machine import is_started

if TYPE_CHECKING:
    from morph.backends import Backend
    from morph.kernels.extensions import Image
    from morph.kernels.libraries.loading import Loaded

CODES = numbers.enumerators("nvrtcResult")
INVALID_INPUT, INVALID_PROGRAM = CODES["NVRTC_ERROR_INVALID_INPUT"], CODES["NVRTC_ERROR_INVALID_PROGRAM"]
INVALID_OPTION, COMPILATION = CODES["NVRTC_ERROR_INVALID_OPTION"], CODES["NVRTC_ERROR_COMPILATION"]
INTERNAL = CODES["NVRTC_ERROR_INTERNAL_ERROR"]
_HEAP = 256 << 20  # as NVIDIA's is at first

_ARCHITECTURE = re.compile(r"(?:-arch|--gpu-architecture)(?:=|\s+)?(?P<name>.*)")
_STANDARD = re.compile(r"--?std=c\+\+(?P<year>\w+)")
# of NVIDIA's code, its messages and its caches
_IGNORED = re.compile(
    r"--?(?:device-as-default-execution-space|default-device|device-int128|device-float128|dopt|Ofast-compile|minimal"
    r"|modify-stack-limit|builtin-\S+|brief-diagnostics|no-display-error-number|err-no|optimization-info|opt-info"
    r"|extensible-whole-program|ewp|no-source-include|no-cache|no-vectorization|pch\S*|create-pch|use-pch|instantiate-templates-in-pch"
    r"|time|time-trace|fdevice-\S+|frandom-seed|jump-table-density|device-stack-protector|version-ident|device-w|dw"
    r"|enable-extended-lambda|default-stream|restrict|disable-warnings|maxrregcount|fmad|ftz|prec-div|prec-sqrt)(?:=\S*)?"
)
_QUOTED = re.compile(r'^\s*#\s*include\s*"', re.MULTILINE)
_NOT_BESIDE = re.compile("--?no-source-include")
_MISSING_HEADER = re.compile(r"fatal error: (\S+): No such file or directory$", re.MULTILINE)
_REFUSED = re.compile(r"--?(?:dlto|dlink-time-opt|gen-opt-lto|optix-ir|tile\S*)(?:=.*)?")


class OptionError(ValueError):
    """An option that nvrtc does not take here."""


@dataclasses.dataclass
class Program:
    """A program.

    Attributes:
        source: CUDA C++.
        name: Its name.
        headers: The headers that are given with it, by name.
        expressions: The expressions whose lowered names are asked for.
        image: What it is compiled to.
        is_virtual: Whether that is for a virtual architecture, for which there is no cubin.
        log: The compiler's messages.
    """

    source: str
    name: str
    headers: dict[str, str]
    expressions: list[str] = dataclasses.field(default_factory=list)
    image: Image | None = None
    is_virtual: bool = True
    log: str = ""

    def compile(self, options: Sequence[str], architectures: Sequence[int]) -> int:
        """Compile it; return an error code."""
        from morph.kernels.extensions import CompilationError, build
        from morph.kernels.extensions import Program as Wanted

        self.image, self.log = None, ""
        try:
            self.is_virtual = _is_virtual(options, architectures)
            given = [*translated(options), *self._beside(options)]
            wanted = Wanted(self.source, self.name, self.headers, tuple(self.expressions))
            self.image = build(wanted, given)
        except OptionError as error:
            self.log = f"nvrtc: error: {error}"
            return INVALID_OPTION
        except CompilationError as error:
            self.log = _as_nvrtcs(str(error))
            return INVALID_OPTION if error.is_of_options else COMPILATION
        return 0

    def _beside(self, options: Sequence[str]) -> Iterator[str]:
        """Yield the option by which headers beside the program are found, as by NVIDIA's nvrtc."""
        if _QUOTED.search(self.source) and not any(map(_NOT_BESIDE.fullmatch, options)):
            yield f"-I{os.path.abspath(os.path.dirname(self.name))}"

    def code(self) -> bytes:
        """Return the image as programs get it, with the zero at its end."""
        from morph.kernels.extensions import toolkit_name

        return self.image.text(toolkit_name()).encode() + b"\0" if self.image else b""


def functions(library: Loaded, backend: Backend) -> Callbacks:
    """Return the functions.

    Args:
        library: libnvrtc.
        backend: The backend that it serves.
    """

    def failed(name: str, error: Exception) -> int:
        if isinstance(error, NullPointerError):
            return INVALID_INPUT
        library.say(INTERNAL, f"{name}: {error}")
        return INTERNAL

    calls = Callbacks(failed)
    _add_facts(calls, library)
    if is_started():
        programs: dict[int, Program] = {}
        _add_programs(calls, library, programs)
        _add_results(calls, programs)
        _add_names(calls, programs)
        _add_heap(calls)
    return calls


def translated(options: Sequence[str]) -> Iterator[str]:
    """Yield nvrtc's options as those of the software device's nvcc.

    Raises:
        OptionError: If one asks for what only NVIDIA's compiler can give.
    """
    is_standard_given = False
    for option in options:
        standard = _STANDARD.fullmatch(option)
        if _REFUSED.fullmatch(option):
            raise OptionError(f"{option}: the software device makes no such code; leave the option out")
        if standard:
            is_standard_given = True
            yield f"-std=c++{_newer(standard['year'])}"
        elif not _IGNORED.fullmatch(option):
            yield option
    if not is_standard_given:
        yield "-std=c++17"


def _as_nvrtcs(log: str) -> str:
    """Return the compiler's messages in nvrtc's form, in which programs look for missing headers."""
    log = re.sub(r"^([^\s:]+):(\d+):(?:\d+:)? (?=\w+( \w+)?: )", r"\1(\2): ", log, flags=re.MULTILINE)
    return _MISSING_HEADER.sub(r'catastrophic error: cannot open source file "\1"', log)


def _newer(year: str) -> str:
    """Return a standard of C++ that CUDA's headers here can be read in."""
    return "17" if year in ("03", "11", "14") else year


def _is_virtual(options: Sequence[str], architectures: Sequence[int]) -> bool:
    words = iter(options)
    wanted = "compute_52"
    for word in words:
        if found := _ARCHITECTURE.fullmatch(word):
            wanted = found["name"] or next(words, "")
    number = re.fullmatch(r"(?:compute|sm|lto)_(\d+)[af]?", wanted)
    if number is None or (wanted != "compute_52" and int(number[1]) not in architectures):
        raise OptionError(f"invalid value for --gpu-architecture (-arch): {wanted}")
    return wanted.startswith("compute")


def _add_facts(calls: Callbacks, library: Loaded) -> None:
    @calls.serve("nvrtcGetErrorString", result=c_void_p, takes=(c_int,))
    def words_of(code: int) -> int:
        words = numbers.name("nvrtcResult", code) or "NVRTC_ERROR unknown"
        reason = library.reason(code)
        return text(f"{words}: {reason}" if reason else words)

    @calls.serve("nvrtcVersion", takes=(POINTER(c_int), POINTER(c_int)))
    def version(major: Any, minor: Any) -> None:
        number = numbers.version(library.file)
        major[0], minor[0] = number // 1000, number % 1000 // 10

    architectures: list[int] = library.table.facts["architectures"][library.file]

    @calls.serve("nvrtcGetNumSupportedArchs", takes=(POINTER(c_int),))
    def count(answer: Any) -> None:
        answer[0] = len(architectures)

    @calls.serve("nvrtcGetSupportedArchs", takes=(POINTER(c_int),))
    def supported(answer: Any) -> None:
        required(answer)
        for index, each in enumerate(architectures):
            answer[index] = each


def _add_programs(calls: Callbacks, library: Loaded, programs: dict[int, Program]) -> None:
    handles = itertools.count(0x10000, 16)
    texts = POINTER(c_char_p)

    @calls.serve("nvrtcCreateProgram", takes=(POINTER(c_void_p), c_char_p, c_char_p, c_int, texts, texts))
    def create(
        answer: Any, source: bytes | None, name: bytes | None, count: int, headers: Any, names: Any
    ) -> int:
        if not answer or source is None or count < 0:
            return INVALID_INPUT
        given = {_decoded(required(names[i])): _decoded(headers[i]) for i in range(count)}
        handle = next(handles)
        programs[handle] = Program(_decoded(source), _decoded(name), given)
        answer[0] = handle
        return 0

    @calls.serve("nvrtcDestroyProgram", takes=(POINTER(c_void_p),))
    def destroy(program: Any) -> int:
        if not program or programs.pop(program[0], None) is None:
            return INVALID_PROGRAM
        program[0] = None
        return 0

    @calls.serve("nvrtcCompileProgram", takes=(c_void_p, c_int, texts))
    def compile_program(handle: int | None, count: int, options: Any) -> int:
        program = programs.get(handle or 0)
        if program is None:
            return INVALID_PROGRAM
        given = [_decoded(options[i]) for i in range(count)]
        return program.compile(given, library.table.facts["architectures"][library.file])


def _add_results(calls: Callbacks, programs: dict[int, Program]) -> None:
    def log(program: Program) -> bytes:
        return program.log.encode() + b"\0"

    def cubin(program: Program) -> bytes:
        return b"" if program.is_virtual else program.code()

    for what, content in (("ProgramLog", log), ("PTX", Program.code), ("CUBIN", cubin)):

        @calls.serve(f"nvrtcGet{what}Size", takes=(c_void_p, POINTER(c_size_t)))
        def size(handle: int | None, answer: Any, content: Any = content) -> int:
            program = programs.get(handle or 0)
            if program is None:
                return INVALID_PROGRAM
            answer[0] = len(content(program))
            return 0

        @calls.serve(f"nvrtcGet{what}", takes=(c_void_p, c_void_p))
        def get(handle: int | None, answer: int | None, content: Any = content) -> int:
            program = programs.get(handle or 0)
            if program is None:
                return INVALID_PROGRAM
            found = content(program)
            if not answer or not found:
                return INVALID_INPUT
            ctypes.memmove(answer, found, len(found))
            return 0


def _add_names(calls: Callbacks, programs: dict[int, Program]) -> None:
    @calls.serve("nvrtcAddNameExpression", takes=(c_void_p, c_char_p))
    def add(handle: int | None, expression: bytes | None) -> int:
        program = programs.get(handle or 0)
        if program is None:
            return INVALID_PROGRAM
        if program.image is not None:
            return CODES["NVRTC_ERROR_NO_NAME_EXPRESSIONS_AFTER_COMPILATION"]
        program.expressions.append(_decoded(required(expression)))
        return 0

    @calls.serve("nvrtcGetLoweredName", takes=(c_void_p, c_char_p, POINTER(c_void_p)))
    def lowered(handle: int | None, expression: bytes | None, answer: Any) -> int:
        program = programs.get(handle or 0)
        if program is None:
            return INVALID_PROGRAM
        if program.image is None:
            return CODES["NVRTC_ERROR_NO_LOWERED_NAMES_BEFORE_COMPILATION"]
        name = program.image.names.get(_decoded(required(expression)))
        answer[0] = text(name) if name else None
        return 0 if name else CODES["NVRTC_ERROR_NAME_EXPRESSION_NOT_VALID"]


def _add_heap(calls: Callbacks) -> None:
    kept = [_HEAP]

    @calls.serve("nvrtcGetPCHHeapSize", takes=(POINTER(c_size_t),))
    def size(answer: Any) -> None:
        answer[0] = kept[0]

    @calls.serve("nvrtcSetPCHHeapSize", takes=(c_size_t,))
    def set_size(value: int) -> None:
        kept[0] = value

    @calls.serve("nvrtcGetPCHCreateStatus", takes=(c_void_p,))
    def status(handle: int | None) -> int:
        return CODES["NVRTC_ERROR_NO_PCH_CREATE_ATTEMPTED"]


def _decoded(words: bytes | None) -> str:
    return (words or b"").decode(errors="surrogateescape")
