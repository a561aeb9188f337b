"""Sources for the host, which nvcc hands to its compiler.

CUDA's headers are C++ here. A source in C that includes them is compiled as C++, with C's linkage.
"""

from __future__ import annotations

import pathlib
import re

from morph.kernels.extensions import commands
from morph.kernels.extensions.options import Options
from morph.kernels.extensions.source import LEFT_OUT, Source

_PREPROCESSOR = ("-x", "c++", "-Drestrict=__restrict")
_COMPILER = ("-fpermissive", "-w", "-fPIC")  # C converts void* to any pointer
_TOOLKIT = re.compile(r'^# \d+ "[^"]*/cuda-[0-9a-f]{20}/include/', re.MULTILINE)


def compile(source: str, target: str, options: Options, scratch: pathlib.Path) -> int:
    """Compile a source.

    Args:
        source: The file.
        target: The object file to write.
        options: What nvcc was called with.
        scratch: A file for what is between.

    Returns:
        The compiler's exit status.
    """
    given, language = options.preprocessor + options.compiler, "c++"
    if source.endswith(".c"):
        if _preprocess_c(source, target, options, scratch):
            words = [each for each in options.compiler if not each.startswith("-std=")]
            words += [*_COMPILER, "-x", "c++", "-fpreprocessed"]
            return commands.call([*commands.compiler(), *words, "-c", str(scratch), "-o", target])
        given, language = [each for each in given if not each.startswith("-std=c++")], "c"
    words = [*commands.includes(), *given, *commands.dependencies(options, target), "-fPIC", "-x", language]
    return commands.call([*commands.compiler(), *words, "-c", source, "-o", target])


def _preprocess_c(source: str, target: str, options: Options, scratch: pathlib.Path) -> bool:
    """Return whether a source in C has headers of CUDA's, and is there to be compiled as C++."""
    words = [
        *commands.compiler(),
        "-E",
        *commands.includes(),
        *options.preprocessor,
        *commands.dependencies(options, target),
    ]
    words += [*_PREPROCESSOR, source]
    text = _with_linkage_of_c(commands.output(words))
    scratch.write_text(text or "", errors="surrogateescape")
    return text is not None


def _with_linkage_of_c(text: str) -> str | None:
    """Return a source that was preprocessed as C++ with C's linkage; None if it has no header of CUDA's."""
    source = Source(text)
    if not any(_TOOLKIT.search(header) for header in source.headers):
        return None

    def between(match: re.Match[str]) -> str:
        return f'}}\n{source.headers[int(match[1])]}extern "C" {{\n'

    own = re.sub(rf"{LEFT_OUT} (\d+)\n", between, source.text)
    return f'extern "C" {{\n{own}\n}}\n'
