"""nvcc's options, as those of g++."""

from __future__ import annotations

import dataclasses
import itertools
import os
import pathlib
import re
import shlex
from collections.abc import Callable, Iterable, Iterator, Sequence

from morph.base.errors import MorphError

SOURCES = (".cu", ".cpp", ".cc", ".cxx", ".c")
# options of g++ too, with a value in the next word
_PASSED_WITH_VALUE = ("-I", "-isystem", "-include", "-D", "-U", "-L", "-l", "-iquote", "-idirafter")
_LONG = {
    "--include-path": "-I",
    "--system-include": "-isystem",
    "--pre-include": "-include",
    "--define-macro": "-D",
    "--undefine-macro": "-U",
    "--library-path": "-L",
    "--library": "-l",
    "--output-file": "-o",
    "--dependency-output": "-MF",
    "--optimize": "-O",
    "--std": "-std=",
    "--x": "-x",
}
_FORWARDED = ("-Xcompiler", "--compiler-options", "-Xlinker", "--linker-options")
# of NVIDIA's machine code, its parser's warnings, and how nvcc runs: each has a value
_IGNORED_WITH_VALUE = (
    *("-code", "--gpu-code", "-maxrregcount", "--maxrregcount"),
    *("-Xptxas", "--ptxas-options", "-Xcudafe", "-Xnvlink", "-Xfatbin", "-Xarchive"),
    *("--threads", "-t", "-ccbin", "--compiler-bindir", "-diag-suppress", "--diag-suppress", "-diag-error"),
    *("--diag-error", "-diag-warn", "--diag-warn", "-Werror", "--Werror", "-cudart", "--cudart", "--fmad"),
    *("-fmad", "--ftz", "-ftz", "--prec-div", "-prec-div", "--prec-sqrt", "-prec-sqrt", "-rdc"),
    *(
        "--relocatable-device-code",
        "--keep-dir",
        "-keep-dir",
        "--split-compile",
        "--device-entity-has-hidden-visibility",
    ),
    *("--options-file-compression", "--default-stream", "-default-stream", "--objdir-as-tempdir"),
)
_ARCHITECTURES = ("-gencode", "--generate-code", "-arch", "--gpu-architecture")
_IGNORED = re.compile(
    r"--?(?:use_fast_math|expt-.*|extended-lambda|device-debug|G|extra-device-vectorization"
    r"|keep|compress-mode.*|dlto|dlink-time-opt|restrict|resource-usage|res-usage|Wno-deprecated-gpu-targets|w"
    r"|allow-unsupported-compiler|use-local-env|no-compress|display-error-number|source-in-ptx|fatbin-options.*"
    r"|disable-warnings|forward-unknown-to-host-compiler|static-global-template-stub.*|jump-table-density.*)"
)
_LINES = ("-lineinfo", "--generate-line-info", "-generate-line-info")
_REFUSED = {
    **dict.fromkeys(("-optix-ir", "--optix-ir"), "OptiX"),
}


class OptionError(MorphError):
    """An option of nvcc that has no meaning on the software device."""


@dataclasses.dataclass
class Options:
    """A command line of nvcc.

    Attributes:
        sources: The files to compile.
        output: What to write; None where nvcc chooses.
        step: ``"compile"``, ``"link"``, ``"archive"``, ``"preprocess"``, ``"device link"``, ``"version"``, or
            an image of ``IMAGES``.
        dependencies: The file to list the headers in that a source includes.
        dependent: What depends on them; None for the output.
        preprocessor: Options for the preprocessor.
        compiler: Options for the compiler.
        linker: Objects, libraries and options for the linker.
        cuda: Whether every source is CUDA's, whatever its name.
        architectures: The compute capabilities that are compiled for, 80 for 8.0.
        verbose: Whether to say what is done, as CMake asks.
        dry: Whether to do nothing else.
    """

    sources: list[str] = dataclasses.field(default_factory=list)
    output: str | None = None
    step: str = "link"
    dependencies: str | None = None
    dependent: str | None = None
    preprocessor: list[str] = dataclasses.field(default_factory=list)
    compiler: list[str] = dataclasses.field(default_factory=list)
    linker: list[str] = dataclasses.field(default_factory=list)
    cuda: bool = False
    architectures: list[int] = dataclasses.field(default_factory=list)
    verbose: bool = False
    dry: bool = False


def parse(words: Sequence[str]) -> Options:
    """Return the options of a command line.

    Args:
        words: The command line without nvcc itself.

    Raises:
        OptionError: If it asks for what only NVIDIA's compiler can give, or an option lacks its value.
        OSError: If a file of options cannot be read.
    """
    options, rest = Options(), _words(words)
    for word in rest:
        name, equals, value = word.partition("=")
        if word.startswith("--") and equals:
            _take(_LONG.get(name, name), itertools.chain([value], rest), options)
        else:
            _take(_LONG.get(word, word), rest, options)
    return options


def _words(given: Iterable[str]) -> Iterator[str]:
    """Yield the words, those of files that are named among them in their places."""
    rest = iter(given)
    for word in rest:
        if word in ("--options-file", "-optf"):
            yield from _words(shlex.split(pathlib.Path(_value(word, rest)).read_text()))
        else:
            yield word


def _take(word: str, rest: Iterator[str], options: Options) -> None:
    name, _, inside = word.partition("=")
    if word in _REFUSED:
        raise OptionError(
            f"nvcc {word}: the software device does not run {_REFUSED[word]}; compile to an object"
        )
    if word in _FORWARDED or name in _FORWARDED:
        _forward(word, inside or _value(word, rest), options)
    elif name in _ARCHITECTURES:
        found = re.findall(r"(?:sm|compute)_(\d+)", inside or _value(word, rest))
        options.architectures += map(int, found)
    elif word in _IGNORED_WITH_VALUE:
        _value(word, rest)
    elif name in _IGNORED_WITH_VALUE or _IGNORED.fullmatch(word):
        pass
    elif word in _LINES:
        options.compiler.append("-g1")
    elif word in _VERBOSE:
        options.verbose, options.dry = True, _VERBOSE[word]
        options.compiler.append("-v")
    elif word in _STEPS:
        options.step = _STEPS[word]
    elif word in _TAKEN:
        _TAKEN[word](options, _value(word, rest))
    elif word in _PASSED_WITH_VALUE:
        _pass(word + _value(word, rest) if len(word) == 2 else word, options, rest)
    else:
        _pass(word, options, rest)


def _forward(word: str, value: str, options: Options) -> None:
    values = [each.strip("'\"") for each in re.split(r"[,\s]+", value) if each]
    if "inker" in word:
        options.linker += [f"-Wl,{each}" for each in values]
    else:
        options.compiler += values


def _pass(word: str, options: Options, rest: Iterator[str]) -> None:
    if word in ("-isystem", "-include", "-iquote", "-idirafter"):
        options.preprocessor += [word, _value(word, rest)]
    elif word.startswith(("-I", "-D", "-U")):
        options.preprocessor.append(word)
    elif word.startswith("-std="):
        standard = _OLDER.sub(r"\g<1>17", word)
        options.preprocessor.append(standard)
        options.compiler.append(standard)
    elif word.startswith(("-L", "-l", "-Wl,", "-shared", "--shared")) or _is_object(word):
        options.linker.append(word.replace("--shared", "-shared"))
    elif os.path.splitext(word)[1] in SOURCES and not word.startswith("-"):
        options.sources.append(word)
    elif word in (
        "-MD",
        "-MMD",
        "--generate-dependencies-with-compile",
        "--generate-nonsystem-dependencies-with-compile",
    ):
        options.dependencies = options.dependencies or ""
    else:
        options.compiler.append(word)


def _is_object(word: str) -> bool:
    return not word.startswith("-") and re.search(r"\.(?:o|a|so)(?:[.\d]*)$", word) is not None


def _value(word: str, rest: Iterator[str]) -> str:
    for value in rest:
        return value
    raise OptionError(f"nvcc {word}: a value is missing")


def _output(options: Options, value: str) -> None:
    options.output = value


def _dependencies(options: Options, value: str) -> None:
    options.dependencies = value


def _dependent(options: Options, value: str) -> None:
    options.dependent = value


def _language(options: Options, value: str) -> None:
    options.cuda = value == "cu"


def _level(options: Options, value: str) -> None:
    options.compiler.append(f"-O{value}")


def _standard(options: Options, value: str) -> None:
    _pass(f"-std={value}", options, iter(()))


_OLDER = re.compile(r"^(-std=(?:c|gnu)\+\+)(?:98|03|0x|11|1y|14)$")  # than morph's headers
IMAGES = ("ptx", "cubin", "fatbin")
_VERBOSE = {"-v": False, "--verbose": False, "-dryrun": True, "--dryrun": True}
_STEPS = {
    **{f"{dashes}{image}": image for image in IMAGES for dashes in ("-", "--")},
    **dict.fromkeys(("-c", "--compile", "-dc", "--device-c", "-dw", "--device-w"), "compile"),
    **dict.fromkeys(("-lib", "--lib"), "archive"),
    **dict.fromkeys(("-dlink", "--device-link"), "device link"),
    **dict.fromkeys(("-E", "--preprocess"), "preprocess"),
    **dict.fromkeys(("-V", "--version"), "version"),
}
_TAKEN: dict[str, Callable[[Options, str], None]] = {
    "-o": _output,
    "-MF": _dependencies,
    **dict.fromkeys(("-MT", "-MQ", "--dependency-target-name"), _dependent),
    "-x": _language,
    "-O": _level,
    "-std=": _standard,
    "-std": _standard,
}
