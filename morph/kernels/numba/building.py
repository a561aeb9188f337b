"""Compiling numba's LLVM IR for the host, by the LLVM that numba brings: IR in, a module's image out."""

from __future__ import annotations

import functools
import importlib
import pathlib
import re
import subprocess
from collections.abc import Sequence
from typing import Any

from morph.base import private
from morph.base.host import compiler
from morph.kernels.extensions import Image, runtime
from morph.kernels.numba.lowering import UnknownCodeError, lower

llvm: Any = importlib.import_module("llvmlite.binding")
_UNDEFINED = re.compile(r"undefined reference to [`'](.+?)'")
_DEVICE = pathlib.Path(__file__).parent / "device.ll"
# a `Kernel` of extensions/include/morph/modules.h, and a `Compiled` of extensions/native/numba.cpp
_ENTRY = """
@name{number} = private constant [{length} x i8] c"{name}\\00"
@sizes{number} = private constant [{count} x i64] [{sizes}]
@offsets{number} = private constant [{count} x i64] [{offsets}]
@"{name}" = constant {{ptr, ptr, i64, i64, ptr}} {{
  ptr @arguments{number}, ptr @name{number}, i64 {most}, i64 {real}, ptr @sizes{number}
}}
@entry{number} = internal global {{ptr, ptr, ptr, i64, i64, ptr, ptr, ptr}} {{
  ptr @name{number}, ptr @"{name}", ptr @morph_numba_launch, i64 0,
  i64 {real}, ptr @sizes{number}, ptr @offsets{number}, ptr {following}
}}
declare void @"{name}.body"({types})
define internal void @arguments{number}(ptr %all) {{
{loads}
call void @"{name}.body"({values})
ret void
}}
"""
_LIST = """
declare i32 @morph_numba_launch(ptr, ptr, ptr, ptr, i64, ptr)
define ptr @morph_kernels() {{ ret ptr {first} }}
"""


def build(modules: Sequence[str]) -> Image:
    """Compile modules as one.

    Args:
        modules: Their LLVM IR, as numba makes it for an NVIDIA GPU.

    Raises:
        UnknownCodeError: If they need what the software device does not have.
    """
    lowered = [lower(text) for text in modules]
    machine = _machine()
    whole = _parsed(_DEVICE.read_text())
    for each in lowered:
        whole.link_in(_parsed(each.text))
    kernels = {name: most for each in lowered for name, most in each.kernels.items()}
    whole.link_in(_parsed(_entries(whole, kernels, machine.target_data)))
    whole.verify()
    options = llvm.create_pipeline_tuning_options(speed_level=2)
    passes = llvm.create_pass_builder(machine, options)
    passes.getModulePassManager().run(whole, passes)
    return Image({}, _linked(machine.emit_object(whole)))


def _parsed(text: str) -> Any:
    try:
        return llvm.parse_assembly(text)
    except RuntimeError as error:
        raise UnknownCodeError(f"numba's code is not understood: {error}") from None


@functools.cache
def _machine() -> Any:
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    target = llvm.Target.from_default_triple()
    return target.create_target_machine(opt=2, reloc="pic", codemodel="default")


def _entries(module: Any, kernels: dict[str, int], layout: Any) -> str:
    """Return the code that lists the kernels and takes the arguments of each."""
    parts, following = [], "null"
    for number, (name, most) in enumerate(kernels.items()):
        kinds = [each.type for each in module.get_function(f"{name}.body").arguments]
        parts.append(_entry(number, name, most, kinds, layout, following))
        following = f"@entry{number}"
    return "".join(parts) + _LIST.format(first=following)


def _entry(number: int, name: str, most: int, kinds: Sequence[Any], layout: Any, following: str) -> str:
    sizes = [layout.get_abi_size(kind) for kind in kinds]
    offsets, end = [], 0
    for kind, size in zip(kinds, sizes, strict=True):
        aligned = layout.get_abi_alignment(kind)
        offsets.append((end + aligned - 1) // aligned * aligned)
        end = offsets[-1] + size
    loads = "\n".join(
        f"%at{i} = getelementptr ptr, ptr %all, i64 {i}\n%place{i} = load ptr, ptr %at{i}\n"
        f"%value{i} = load {kind}, ptr %place{i}, align 1"
        for i, kind in enumerate(kinds)
    )
    return _ENTRY.format(
        **{"number": number, "name": name, "length": len(name.encode()) + 1, "most": most},
        **{"count": max(len(kinds), 1), "real": len(kinds), "following": following, "loads": loads},
        sizes=", ".join(f"i64 {size}" for size in sizes or [0]),
        offsets=", ".join(f"i64 {offset}" for offset in offsets or [0]),
        types=", ".join(map(str, kinds)),
        values=", ".join(f"{kind} %value{i}" for i, kind in enumerate(kinds)),
    )


def _linked(code: bytes) -> bytes:
    with private.scratch("morph-numba-") as folder:
        part, library = folder / "kernel.o", folder / "kernel.so"
        part.write_bytes(code)
        words = [*compiler(), "-shared", "-Wl,-z,defs,-Bsymbolic", str(part), runtime()._name, "-lm"]
        words += ["-o", str(library)]
        done = subprocess.run(words, capture_output=True, text=True, check=False)
        if done.returncode:
            raise UnknownCodeError(_missing(done.stderr))
        return library.read_bytes()


def _missing(log: str) -> str:
    names = sorted(set(_UNDEFINED.findall(log)))
    if not names:
        return f"a kernel of numba's cannot be linked: {log.strip()}"
    return f"the software device does not have {', '.join(names)}, which a kernel calls"
