"""The compiler ``nvcc`` of the software device: it translates CUDA sources, and has g++ compile them.

It imports neither torch nor morph's activation: a build calls it once for each source.
"""

from __future__ import annotations

import dataclasses
import itertools
import os
import pathlib
import re
import shutil
import sys
from collections.abc import Sequence

from morph.base import private, variables
from morph.base.errors import MorphError
from morph.kernels.extensions import assembly, commands, host_sources, linking, zones
from morph.kernels.extensions import options as nvcc_options
from morph.kernels.extensions.block_functions import SUFFIX, not_compiled
from morph.kernels.extensions.image import Image
from morph.kernels.extensions.options import Options
from morph.kernels.extensions.source import Source, SourceError
from morph.kernels.extensions.translation import translate

_PREPROCESSOR = (
    *("-D__CUDACC__", "-D__NVCC__", "-D__CUDACC_EXTENDED_LAMBDA__"),
    *("-include", "cuda_runtime.h"),
)
_ASSEMBLY = ("-include", "morph/lanes.h")
# without a profile; the oldest that the translation takes for one, and the newest whose instructions it knows
_CAPABILITY, _OLDEST, _NEWEST = 80, 70, 89
# reinterpreted vectors are everywhere in kernels; nvcc takes some C++ that g++ only takes so
_LENIENT = "-fpermissive"
_COMPILER = (
    *("-fno-strict-aliasing", _LENIENT, "-w", "-fPIC", "-ftls-model=global-dynamic"),
    "-fno-semantic-interposition",  # else no kernel could be inlined into its launch
    "-fno-gnu-unique",  # a `__shared__` variable of an inline function is of its own library
    "-fstack-reuse=none",  # FlashAttention's convert_type returns a pointer to its own variable
)

_VECTORIZED = ("-ftree-loop-vectorize", "-fvect-cost-model=dynamic", "-fsplit-loops")

# g++ calls a function before each access to memory: native/sanitizer takes the place of libtsan
_SANITIZED = (
    *(
        "-fsanitize=thread",
        "--param=tsan-distinguish-volatile=1",
        "--param=tsan-instrument-func-entry-exit=0",
    ),
    *("-g1", "-fno-optimize-sibling-calls"),  # who calls tells the line, and the library
    "-fno-tree-loop-distribute-patterns",  # as a memcpy its accesses are not seen one by one
)
# in g++'s assembler: it tells nothing of what these access
_COPIES = re.compile(r"^(\t(?:call|bl)\t)(memcpy|memmove|memset)\b", re.MULTILINE)
_CHECKED = "-DMORPH_CUDA_CHECKED"
# what modules.py compiles: its names are its own, whatever the process has
MODULE = ("-DMORPH_CUDA_MODULE", "-include", "morph/modules.h")
LINKED = ("-shared", "-Xlinker", "-Bsymbolic")


def main(words: Sequence[str] | None = None) -> int:
    """Run as ``nvcc``.

    Args:
        words: The command line without the program's name.

    Returns:
        The exit status.
    """
    try:
        return _run(nvcc_options.parse(sys.argv[1:] if words is None else words))
    except (SourceError, MorphError, OSError) as error:
        print(error, file=sys.stderr)
        return 1


def _run(options: Options) -> int:
    if options.step == "version":
        version = (commands.home() / "version.txt").read_text().strip()
        print(f"nvcc: morph's\nCuda compilation tools, release {version}, V{version}.0")
        return 0
    if options.verbose:
        print(linking.described(options, commands.home()), file=sys.stderr)
    if options.dry:
        return 0
    refusal = os.environ.get("MORPH_NVCC_REFUSAL")
    if refusal:
        print(f"nvcc: {', '.join(options.sources)}: {refusal}", file=sys.stderr)
        return 1
    if options.step == "device link":
        return commands.call(
            [
                *commands.compiler(),
                "-x",
                "c++",
                "-c",
                "-fPIC",
                os.devnull,
                "-o",
                options.output or "a_dlink.o",
            ]
        )
    with private.scratch("morph-nvcc-") as folder:
        return (
            _make_image(options, folder) if options.step in nvcc_options.IMAGES else _build(options, folder)
        )


def _make_image(options: Options, folder: pathlib.Path) -> int:
    """Write a module in the place of PTX or of a cubin, which the served driver loads."""
    target = options.output or f"{pathlib.Path(options.sources[0]).stem}.{options.step}"
    built = str(folder / "module.so")
    preprocessor, linker = [*options.preprocessor, *MODULE], [LINKED[0], f"-Wl,{LINKED[2]}"]
    part = dataclasses.replace(options, step="link", output=built, preprocessor=preprocessor, linker=linker)
    if status := _build(part, folder):
        return status
    text = Image({}, pathlib.Path(built).read_bytes()).text(commands.home().name)
    pathlib.Path(target).write_text(text)
    return 0


def _build(options: Options, folder: pathlib.Path) -> int:
    objects = []
    for number, source in enumerate(options.sources):
        chosen = options.output if options.step == "compile" else None
        target = chosen or (
            f"{pathlib.Path(source).stem}.o" if options.step == "compile" else str(folder / f"{number}.o")
        )
        status = _compile(source, target, options, folder / f"{number}.ii")
        if status or options.step == "preprocess":
            return status
        objects.append(target)
    if options.step == "compile":
        return 0
    if options.step == "archive":
        return commands.call(linking.archive(options, objects))
    return _link(options, objects, folder)


def _link(options: Options, objects: list[str], folder: pathlib.Path) -> int:
    start = str(folder / "start.o") if linking.is_program(options) else None
    status = commands.call([*commands.compiler(), *linking.start(start)]) if start else 0
    return status or commands.call(
        [*commands.compiler(), *linking.arguments(options, objects, commands.home(), start)]
    )


def _compile(source: str, target: str, options: Options, scratch: pathlib.Path) -> int:
    if not (options.cuda or source.endswith(".cu")):
        return host_sources.compile(source, target, options, scratch)
    is_sanitized = _is_sanitized()
    more = (_CHECKED,) if is_sanitized else ()
    status, text = _preprocess(source, target, options, scratch, *more)
    if status:
        return status
    if assembly.is_in(Source(text)):  # most sources have none, and need not read the header
        _, text = _preprocess(source, target, options, scratch, *more, *_ASSEMBLY)
    is_module = MODULE[0] in options.preprocessor
    words = [*commands.compiler(), *_level(options), *options.compiler, *_COMPILER]
    if options.step != "preprocess" and not (is_module or is_sanitized):
        if _compiles_blocks([*words, *_loops(words)], text, scratch, target):
            return 0
    translated = translate(text, is_checked=is_sanitized, is_module=is_module)
    scratch.write_text(translated, errors="surrogateescape")
    if options.step == "preprocess":
        return _hand_over(scratch, options)
    if is_sanitized:
        return _compile_checked([*words, *_SANITIZED], scratch, target)
    return commands.call(_to_object(words, scratch, target))


def _to_object(words: list[str], source: pathlib.Path, target: str) -> list[str]:
    return [*words, "-x", "c++", "-fpreprocessed", "-c", str(source), "-o", target]


def _compiles_blocks(words: list[str], text: str, scratch: pathlib.Path, target: str) -> bool:
    """Compile a source whose kernels are functions of blocks too, but those that C++ does not take so.

    At first strictly: what g++ lets pass else may change what such a function takes for constant.
    """
    staying: set[str] = set()
    strict = [word for word in words if word != _LENIENT]
    for used in itertools.chain([strict], itertools.repeat(words)):
        if SUFFIX not in (translated := translate(text, staying=staying)):
            return False
        scratch.write_text(translated, errors="surrogateescape")
        problem = commands.problem(_to_object(used, scratch, target))
        if problem is None:
            return True
        names = not_compiled(translated, problem) - staying
        if not names and used is words:
            return False
        staying |= names
    raise AssertionError


def _loops(words: list[str]) -> tuple[str, ...]:
    """Return the options by which g++ vectorizes the loops over threads; at -O3 it has them."""
    levels = [word for word in words if word.startswith("-O")]
    return _VECTORIZED if levels[-1:] == ["-O2"] else ()


def _is_sanitized() -> bool:
    given = os.environ.get(variables.SANITIZE)
    if not given:
        return False
    from morph.software import settings  # slow, as its cards below

    return not {settings.LEAK}.issuperset(settings.sanitizers(given))


def _compile_checked(words: list[str], source: pathlib.Path, target: str) -> int:
    assembler = source.with_suffix(".s")
    status = commands.call([*words, "-x", "c++", "-fpreprocessed", "-S", str(source), "-o", str(assembler)])
    if status:
        return status
    text = _COPIES.sub(r"\1morph_watched_\2", assembler.read_text(errors="surrogateescape"))
    assembler.write_text(zones.add(text), errors="surrogateescape")
    return commands.call([*words, "-x", "assembler", "-c", str(assembler), "-o", target])


def _hand_over(preprocessed: pathlib.Path, options: Options) -> int:
    """Write it to the file asked for, else to the standard output: by it, ccache tells sources apart."""
    if options.output:
        shutil.copyfile(preprocessed, options.output)
    else:
        sys.stdout.write(preprocessed.read_text(errors="replace"))
    return 0


def _preprocess(
    source: str, target: str, options: Options, scratch: pathlib.Path, *more: str
) -> tuple[int, str]:
    """Return the preprocessor's exit status, and its output."""
    standard = [word for word in options.compiler if word.startswith("-f") or word.startswith("-m")]
    words = [*commands.includes(), *_PREPROCESSOR, f"-D__CUDA_ARCH__={architecture(options)}", *more]
    words += [*options.preprocessor, *standard]
    words += commands.dependencies(options, target)
    status = commands.call([*commands.compiler(), "-E", *words, "-x", "c++", source, "-o", str(scratch)])
    return status, "" if status else scratch.read_text(errors="surrogateescape")


def architecture(options: Options) -> int:
    """Return ``__CUDA_ARCH__``: of the newest code that is asked for and that the card would run.

    Raises:
        MorphError: If ``MORPH_DEVICE_PROFILE`` names no card.
    """
    profile = os.environ.get(variables.DEVICE_PROFILE)
    most = min(_capability(profile), _NEWEST) if profile else _CAPABILITY
    return 10 * max((each for each in options.architectures if _OLDEST <= each <= most), default=most)


def _capability(profile: str) -> int:
    from morph.software import cards  # 60 ms, which most builds need not take

    return cards.load(profile, variables.DEVICE_PROFILE).capability


def _level(options: Options) -> list[str]:
    return [] if any(word.startswith("-O") for word in options.compiler) else ["-O2"]


if __name__ == "__main__":
    raise SystemExit(main())
