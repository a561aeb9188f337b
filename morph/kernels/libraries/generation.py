"""The C++ of a served library that follows from its table: its exported names, and what each refusal says."""

from __future__ import annotations

import json
from collections.abc import Mapping

_HEAD = """// Generated from aliases/libraries/{name}.toml.
#include "library.h"

#if defined(__x86_64__)
#define JUMP(name, slot) "jmp *" slot "(%rip)\\n"
#elif defined(__aarch64__)
#define JUMP(name, slot) "adrp x16, " slot "\\nldr x16, [x16, :lo12:" slot "]\\nbr x16\\n"
#else
#error "morph serves libraries on x86_64 and aarch64 only"
#endif
// The arguments stay where the caller put them, whatever they are.
#define NAME(number, name)                                                              \\
  static int refused_##number() {{ return library::refuse(number); }}                     \\
  extern "C" __attribute__((visibility("hidden"), used)) void* morph_slot_##number =    \\
      reinterpret_cast<void*>(&refused_##number);                                       \\
  asm(".text\\n.globl " #name "\\n.type " #name ", %function\\n" #name ":\\n"                \\
      JUMP(#name, "morph_slot_" #number) ".size " #name ", .-" #name "\\n");

"""


def source(name: str, refusal: int, refusals: Mapping[str, str]) -> str:
    """Return the C++ text of a library's names.

    Args:
        name: The library's.
        refusal: The code that a function returns while nothing serves it.
        refusals: What is said then, by exported name.
    """
    definitions = "\n".join(f"NAME({number}, {each})" for number, each in enumerate(refusals))
    rows = ",\n".join(
        f'    {{"{each}", &morph_slot_{number}, {_quoted(text)}}}'
        for number, (each, text) in enumerate(refusals.items())
    )
    table = f"const Name names[] = {{\n{rows}}};\nconst size_t count = {len(refusals)};\n"
    code = f"const int not_supported = {refusal};\n"
    return f"{_HEAD.format(name=name)}{definitions}\n\nnamespace library {{\n{table}{code}}}\n"


def _quoted(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)
