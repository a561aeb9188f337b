"""CUDA C++ as C++: the tokens that only nvcc knows are replaced, and what cannot be right is refused.

It works on the output of the preprocessor, which has neither comments nor macros, so that a launch in a macro
or in a header is met like any other, and an error names the file and line that it is from.
"""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Collection, Iterator, Mapping

from morph.kernels.extensions import assembly, builtins, casts, defaults, entries, launches, refusals, zones
from morph.kernels.extensions.block_functions import BlockFunctions
from morph.kernels.extensions.source import LEFT_OUT, Edits, Source, outside_literals

_BARRIER = (
    r"__syncthreads\s*\(|__syncthreads_(?:count|and|or)\s*\(|\.\s*sync\s*\(\s*\)|\bsync\s*\(\s*\w+\s*\)"
)
_READ = re.compile(r"\s*(?:\w+\s+)?\w+\s*=\s*\w+\s*\[[^][;]*\]\s*;")
_TURN = " ::morph_cuda::let_others_on(); "
_SUM = r"(?<=[;{}])\s*(?=atomicAdd\s*\()"
_EXTERNAL = (
    r"(?<!\w)(?:extern\b[^;{}=]*?__shared__|__shared__\s+extern)\b(?P<kind>[^;{}=]*?)"
    r"(?<!\w)(?P<name>\w+)\s*\[(?P<size>[^][;]*)\](?P<rest>(?:\s*\[[^][;]+\])*)\s*;"
)
# where C++ asks for the word, and nvcc does not: `Cast<T, half>::cast<8>(x)`, of a parameter T
_OF_TEMPLATE = r">\s*::\s*(?=[A-Za-z_]\w*\s*<(?P<inner>[\w\s,:*<>]*)>\s*\()(?!template\b|operator\b)"
_FAILURE = "morph_cuda_assert_fail"
_HEADER_WORDS = re.compile(r"__(?:global__|device__|host__|assert_fail)(?!\w)")
# Shared memory begins at address 0: kernels turn bits of its addresses around, and rely on that
_SHARED = "static thread_local __attribute__((aligned(128)))"
_CHECKED_SHARED = f"static thread_local __attribute__((aligned({zones.ALIGNED})))"
_KERNEL = "__global__"
_SHORT = 2000  # characters of a kernel's body
_INLINED = "__attribute__((always_inline))"
_CHECKED_KERNEL = "__attribute__((noinline))"  # by its own name in a report
_WORDS = {
    # g++ takes it in front only
    r"(?:static\s+)?__shared__\s+(?P<kept>alignas\s*\((?:[^()]|\([^()]*\))*\))": (rf"\g<kept> {_SHARED}"),
    r"static\s+__shared__\b|__shared__\s+static\b|__shared__\b": _SHARED,
    r"(?P<kept>\b(?:extern|static)\s+(?:(?:const|__device__)\s+)*)__constant__\b": r"\g<kept>",
    r"__constant__(?P<kept>\s+(?:const\s+)?(?:static|extern)\b)": r"\g<kept>",
    r"__constant__\b": "static",
    # what a macro becomes, as CUTLASS's; g++ leaves those of the source out
    r"#[ \t]*pragma[ \t]+(?:no)?unroll\b(?:[ \t]*\([^()\n]*\)|[ \t]+\d+)?": "",
    r"(?<=\s)__noinline__(?!\s*[,)])": "__attribute__((noinline))",
    r"(?<!\w)__assert_fail(?!\w)": _FAILURE,
    r"__(?:device|host|managed|grid_constant|nv_pure)__(?!\w)": "",
}
# a module's variables are found by their names, also those that are static
_VARIABLE = r"(?:__device__\s+)?__constant__\b|__device__\s+[\w:<>*\s]*\w\s*(?:\[[^\]]*\]\s*)*[;={]"
_MODULES = {rf"\bstatic\s+(?={_VARIABLE})": "", **_WORDS, r"__constant__\b": ""}


def translate(
    text: str, *, is_checked: bool = False, is_module: bool = False, staying: Collection[str] | None = None
) -> str:
    """Return a preprocessed CUDA source as C++.

    Args:
        text: The source.
        is_checked: Whether it is compiled for the sanitizer.
        is_module: Whether it is a module, whose kernels and variables programs find by their names.
        staying: The kernels that are not compiled as functions of blocks too; None: no kernel is.

    Raises:
        SourceError: If it holds what the software device cannot run, with the file and line.
    """
    source = Source(text)
    _refuse(source)
    edits = Edits(source)
    _take_turns(source, edits)
    _keep_step(source, edits)
    _find_dynamic_memory(source, edits)
    _name_templates(source, edits)
    defaults.translate(source, edits)
    assembly.translate(source, edits)
    functions = None if staying is None else BlockFunctions(source, staying)
    launches.translate(source, edits, functions.of if functions else lambda kernel, place: None)
    casts.translate(source, edits)
    _check_bounds(source, edits)
    if functions:
        functions.add(edits, _of_block)
    if not is_checked:
        _inline_short(source, edits, functions.kernels if functions else ())
    (entries.add if is_module else entries.remember)(source, edits)
    words = _MODULES if is_module else _WORDS
    result = outside_literals(edits.result(), functools.partial(_in_source, is_checked, words))
    headers = [outside_literals(header, _in_header) for header in source.headers]
    return re.sub(rf"{LEFT_OUT} (\d+)\n", lambda match: headers[int(match[1])], result)


def _of_block(text: str) -> str:
    source = Source(text)
    edits = Edits(source)
    _find_dynamic_memory(source, edits)
    _name_templates(source, edits)
    casts.translate(source, edits)
    return edits.result()


def _in_source(is_checked: bool, words: Mapping[str, str], code: str) -> str:
    code = re.sub(r"__global__(?!\w)", _CHECKED_KERNEL if is_checked else "", code)
    for word, replacement in words.items():
        code = re.sub(word, replacement, code)
    if is_checked:
        code = code.replace(_SHARED, _CHECKED_SHARED)
    return builtins.translate(code)


def _in_header(code: str) -> str:
    code = _HEADER_WORDS.sub(lambda word: _FAILURE if word[0] == "__assert_fail" else "", code)
    return builtins.translate(code)


def _refuse(source: Source) -> None:
    for found in itertools.chain(refusals.features(source), refusals.nested_launches(source)):
        what = f"{found.name}{found.detail}; {refusals.FEATURES[found.name]}"
        raise source.error(found.start, f"the software device does not run {what}")
    for place, function, library in refusals.library_functions(source):
        problem = f"the software device has no {function} of {library}; use torch's own functions"
        raise source.error(place, problem)


def _take_turns(source: Source, edits: Edits) -> None:
    """Let the threads take turns after each round of a loop with a barrier.

    A kernel may read shared memory right after the last barrier of a round and write it in the next one
    before the first: on a GPU all threads read long before one writes. Here one would run ahead. So it is
    with what a loop has found, where the statement after the loop reads it (apex's softmax).
    """
    last: dict[int, int] = {}
    barriers = (match.span() for match in source.find(_BARRIER))
    for start, end in itertools.chain(barriers, assembly.barriers(source)):
        last |= dict.fromkeys(_loops_around(source, start), end)
    for loop, barrier in last.items():
        end = source.close(loop)
        if source.code[barrier:end].strip(" \n;)"):  # something follows the last barrier
            edits.replace(end, end, _TURN)
        if read := _READ.match(source.code, end + 1):
            edits.replace(read.end(), read.end(), _TURN)


def _keep_step(source: Source, edits: Edits) -> None:
    """Let the others on before and after each sum of a function that has matched a warp's lanes.

    The lanes of a group add up in shared memory what their leader has set to 0 just before, and reads in the
    next statement. On a GPU nothing but their pace orders that.
    """
    matches = [match.end() for match in source.find(r"__match_any_sync\s*\(")]
    ends = [_end_of_function(source, match) for match in matches]
    for sum in source.find(_SUM) if matches else ():
        if any(match < sum.start() < end for match, end in zip(matches, ends, strict=True)):
            after = source.code.index(";", source.close(source.code.index("(", sum.end()))) + 1
            for place in (sum.end(), after):
                edits.replace(place, place, _TURN)


def _end_of_function(source: Source, place: int) -> int:
    """Return where the function around a place ends, or the class that it is in."""
    end, brace = place, source.enclosing(place)
    while brace >= 0 and _is_in_function(source, brace + 1):
        end, brace = source.close(brace), source.enclosing(brace)
    return end


def _loops_around(source: Source, place: int) -> Iterator[int]:
    """Yield where the bodies of the loops around a place open, within its function."""
    brace = source.enclosing(place)
    while brace >= 0:
        head = source.head(brace)
        word = _word_before_parentheses(head) if head.endswith(")") else re.split(r"\W", head)[-1]
        if word in ("for", "while", "do"):
            yield brace
        elif word not in ("if", "else", "constexpr", "switch"):
            return
        brace = source.enclosing(brace)


def _word_before_parentheses(head: str) -> str:
    depth = 0
    for index in range(len(head) - 1, -1, -1):
        depth += (head[index] == ")") - (head[index] == "(")
        if not depth:
            return re.split(r"\W", head[:index].rstrip())[-1]
    return ""


def _name_templates(source: Source, edits: Edits) -> None:
    """Say that what is called is a template, in the bodies of functions."""
    for match in source.find(_OF_TEMPLATE):
        head = re.split(r"[;{}]", source.head(source.enclosing(match.start())))[-1]
        if "(" in head and match["inner"].count("<") == match["inner"].count(">"):
            edits.replace(match.end(), match.end(), "template ")


def _check_bounds(source: Source, edits: Edits) -> None:
    """Have each kernel compare its block with its ``__launch_bounds__``, as a launch does on a card."""
    for match in source.find(r"__launch_bounds__\s*(?=\()"):
        end = source.close(match.end()) + 1
        edits.replace(match.start(), end, "")
        body = _body(source, end)
        if body is not None:
            most = source.text[slice(*next(launches.arguments_of(source, match.end())))]
            edits.replace(body, body, f" ::morph_cuda::bound_threads({launches.LINE.sub(' ', most)}); ")


def _inline_short(source: Source, edits: Edits, others: Collection[str]) -> None:
    """Inline short kernels into the loops over threads: a call for each would take longer than its work."""
    for start, called in launches.kernels(source):
        body = _body(source, called.end() - 1)
        if body is None or called[1] in others:
            continue
        code = source.code[body : source.close(body - 1)]
        if len(code) < _SHORT and not re.search(_BARRIER, code):
            edits.replace(start, start + len(_KERNEL), _INLINED)


def _body(source: Source, place: int) -> int | None:
    """Return where the body of the function that is declared at a place begins; None if it has none here."""
    while (found := re.compile(r"[({;]").search(source.code, place)) and found[0] == "(":
        place = source.close(found.start()) + 1
    return found.end() if found and found[0] == "{" else None


def _find_dynamic_memory(source: Source, edits: Edits) -> None:
    for match in source.find(_EXTERNAL):
        if _is_in_function(source, match.start()):
            edits.replace(match.start(), match.end(), _dynamic_array(match))
        elif not match["rest"]:
            kind = _element_type(match["kind"], match[0])
            declared = f"static const ::morph_cuda::DynamicShared<{kind}> {match['name']};"
            edits.replace(match.start(), match.end(), declared)


def _dynamic_array(match: re.Match[str]) -> str:
    """Return the declaration of a pointer to a launch's memory, or of a reference to an array with a size."""
    kind, size = _element_type(match["kind"], match[0]), match["size"].strip()
    sizes = f"[{size}]{match['rest']}" if size else match["rest"]
    pointer = f"{kind}(*){sizes}" if sizes else f"{kind}*"
    memory = f"reinterpret_cast<{pointer}>(::morph_cuda::dynamic_shared())"
    return f"auto& {match['name']} = *{memory};" if size else f"auto* {match['name']} = {memory};"


def _element_type(after: str, declaration: str) -> str:
    """Return the type of ``extern __shared__ T name[]``; it may stand on either side of ``__shared__``."""
    between = re.match(r"extern\b(.*?)__shared__", declaration, re.DOTALL)
    words = f"{between[1] if between else ''} {after}"
    return re.sub(r"__attribute__\s*\(\(.*?\)\)+|\balignas\s*\([^)]*\)", "", words, flags=re.DOTALL).strip()


def _is_in_function(source: Source, place: int) -> bool:
    brace = source.enclosing(place)
    while brace >= 0:
        head = source.text[max(0, brace - 512) : brace].rstrip()
        if not re.search(r'(?:\bnamespace(?:\s+[\w:]+)?|"C")$', head):
            return True
        brace = source.enclosing(brace)
    return False
