"""The LLVM IR that numba makes for an NVIDIA GPU, as IR for the host: what is NVVM's in it becomes calls."""

from __future__ import annotations

import re
from typing import NamedTuple

from morph.base.errors import MorphError

_TOKEN = re.compile(r'"[^"]*"|\*|[^"*]+')
_CLOSING = {"]": "[", "}": "{", ">": "<", ")": "("}
_WORD = re.compile(r'(?:%"[^"]*"|[%\w.]+)\Z')
_SPACE = re.compile(r"\s*addrspace\(\d+\)")
_COMMENTED = re.compile(r'^((?:[^";]|"[^"]*")*);.*$')

_KERNEL = re.compile(r'@"([^"]+)", !"kernel", i32 1\b')
_BOUND = re.compile(r'@"([^"]+)", !"maxntidx", i32 (\d+)')
# of no use to the host: layouts, what a debugger is told, and what NVVM is told of kernels
_DROPPED = re.compile(
    r"\s*(?:target |!|source_filename|(?:call|declare) void @\"?llvm\.dbg\.)",
)
_ATTACHED = re.compile(r",? !\w+ !(?:\d+|\{[^}]*\})")
_SHARED = re.compile(r"^(@\"[^\"]+\") = (?:external )?addrspace\(3\) global (\[0 x )?")
_CAST = re.compile(r"addrspacecast ptr(?: addrspace\(\d+\))? (@\"[^\"]+\") to ptr")
_INTRINSIC = re.compile(r"@\"llvm\.nvvm\.(?:read\.ptx\.sreg\.)?([\w.]+)\"")
_ASSEMBLY = re.compile(r'\basm\s+(?:sideeffect\s+)?"([^"]*)", "[^"]*"\s*')
_LOAD = re.compile(
    r'call (\S+) asm\s+(?:sideeffect\s+)?"ld\.global\.\w+\.\w+ \$0, \[\$1\];", "[^"]*"\s*\((ptr [^,)]+)\)'
)
_STORE = re.compile(
    r'call void asm\s+(?:sideeffect\s+)?"st\.global\.\w+\.\w+ \[\$0\], \$1;", "[^"]*"\s*'
    r"\((ptr [^,)]+), ([^)]+)\)"
)
_INSTRUCTIONS = {
    "activemask.b32 $0;": "activemask",
    "mov.u32 $0, %lanemask_lt;": "lanemask_lt",
    "mov.u32 $0, %dynamic_smem_size;": "dynamic_shared_size",
    "nanosleep.u32 $0;": "nanosleep",
    "tanh.approx.f32 $0, $1;": "tanh",
    "cvt.rn.f16.f32 $0, $1;": "float2half",
    "cvt.f32.f16 $0, $1;": "half2float",
}
_COMPARED = re.compile(r'(\s*)(%"[^"]+") = cmpxchg (?:volatile )?(ptr \S+), (\w+) ')
_EXCHANGED = re.compile(r'(\s*)(%"[^"]+") = atomicrmw (?:volatile )?xchg (ptr \S+), (\w+) (\S+) ')

# what stands in the place of PTX, and of what numba does not declare
_OWN = {
    "activemask": "declare i32 @morph_nvvm_activemask() convergent nomerge nounwind",
    "lanemask_lt": "declare i32 @morph_nvvm_lanemask_lt() nounwind memory(none) willreturn",
    "dynamic_shared_size": "declare i32 @morph_nvvm_dynamic_shared_size() nounwind memory(none) willreturn",
    "dynamic_shared": "declare ptr @morph_nvvm_dynamic_shared() nounwind memory(none) willreturn",
    "nanosleep": "declare void @morph_nvvm_nanosleep(i32) nounwind",
    "looked": "declare void @morph_nvvm_looked(ptr, i1 zeroext) nounwind",
    "tanh": "declare float @morph_nvvm_tanh(float)",
    "float2half": "declare i16 @morph_nvvm_float2half(float)",
    "half2float": "declare float @morph_nvvm_half2float(i16)",
}
_USED = re.compile(r"@morph_nvvm_(\w+)")


class UnknownCodeError(MorphError):
    """What a kernel needs and the software device does not have."""


class Lowered(NamedTuple):
    """A module for the host.

    Attributes:
        text: Its LLVM IR; its kernels have names that end in ``.body``.
        kernels: The names of its kernels, each with the most threads that a block of it has, or 0.
    """

    text: str
    kernels: dict[str, int]


def lower(text: str) -> Lowered:
    """Return a module of numba's for the host.

    Args:
        text: Its LLVM IR, with or without types of pointers.

    Raises:
        UnknownCodeError: If it has PTX in it that is not known.
    """
    bounds = {name: int(most) for name, most in _BOUND.findall(text)}
    kernels = {name: bounds.get(name, 0) for name in _KERNEL.findall(text)}
    lines = [_opaque(line) for line in text.splitlines() if not _DROPPED.match(line)]
    dynamic = {found[1] for line in lines if (found := _SHARED.match(line)) and found[2]}
    declared = tuple(f"{name} =" for name in dynamic)
    lines = [_lowered(line, dynamic) for line in lines if not line.startswith(declared)]
    body = "\n".join(lines)
    used = {*_USED.findall(body)}
    body += "".join(f"\n{declaration}" for name, declaration in _OWN.items() if name in used)
    for name in kernels:
        body = body.replace(f'@"{name}"', f'@"{name}.body"')
    return Lowered(body, kernels)


def _lowered(line: str, dynamic: set[str]) -> str:
    # visible to others: else the compiler would keep a value of it over a barrier
    line = _SHARED.sub(r"\1 = thread_local global ", line)
    line = _CAST.sub(lambda cast: _address(cast[1], dynamic), line)
    line = _SPACE.sub("", line).replace("addrspacecast", "bitcast")
    line = _ATTACHED.sub("", line)
    line = _INTRINSIC.sub(lambda name: f"@morph_nvvm_{name[1].replace('.', '_')}", line)
    line = line.replace('@"vprintf"', "@morph_nvvm_vprintf")
    line = _STORE.sub(r"store \2, \1", _LOAD.sub(r"load \1, \2", line))
    return _noticed(_ASSEMBLY.sub(_instruction, line))


def _address(name: str, dynamic: set[str]) -> str:
    return "call ptr @morph_nvvm_dynamic_shared()" if name in dynamic else f"bitcast ptr {name} to ptr"


def _instruction(found: re.Match[str]) -> str:
    known = _INSTRUCTIONS.get(found[1].strip())
    if known is None:
        raise UnknownCodeError(f"the software device does not have the PTX {found[1]!r} that numba writes")
    return f"@morph_nvvm_{known}"


def _noticed(line: str) -> str:
    """Let others on where a thread looks at the same place again and again, as for a lock."""
    if found := _COMPARED.match(line):
        indent, name, place, kind = found.groups()
        changed = f'{name[:-1]}.changed"'
        return (
            f"{line}\n{indent}{changed} = extractvalue {{{kind}, i1}} {name}, 1\n"
            f"{indent}call void @morph_nvvm_looked({place}, i1 zeroext {changed})"
        )
    if found := _EXCHANGED.match(line):
        indent, name, place, kind, value = found.groups()
        changed = f'{name[:-1]}.changed"'
        return (
            f"{line}\n{indent}{changed} = icmp ne {kind} {name}, {value}\n"
            f"{indent}call void @morph_nvvm_looked({place}, i1 zeroext {changed})"
        )
    return line


def _opaque(line: str) -> str:
    """Return a line with ``ptr`` for each pointer that tells its type: LLVM knows none since release 17."""
    if ";" in line and (commented := _COMMENTED.match(line)):
        line = commented[1]
    if "*" not in line:
        return line
    done = ""
    for token in _TOKEN.findall(line):
        done = f"{done[: _start(done)]}ptr" if token == "*" else done + token
    return done


def _start(text: str) -> int:
    """Return where the type begins that a text ends with."""
    text = text.rstrip()
    if spaced := re.search(r"\s*addrspace\(\d+\)\Z", text):
        text = text[: spaced.start()]
    if text[-1] in _CLOSING:
        opening = _opening(text)
        return _start(text[:opening]) if text[-1] == ")" else opening
    word = _WORD.search(text)
    if word is None:
        raise UnknownCodeError(f"numba's code has a pointer that is not understood: {text!r}")
    return word.start()


def _opening(text: str) -> int:
    closing, depth = text[-1], 0
    for index in range(len(text) - 1, -1, -1):
        depth += (text[index] == closing) - (text[index] == _CLOSING[closing])
        if not depth:
            return index
    raise UnknownCodeError(f"numba's code has a type that is not understood: {text!r}")
