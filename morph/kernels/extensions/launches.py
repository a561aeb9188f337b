"""Launches: ``kernel<<<grid, block>>>(x)`` becomes a call, ``(void*)kernel`` an address to launch."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

from morph.kernels.extensions.source import CLOSING, Edits, Source

_OPENING = r"<\s*<\s*<"
_END = re.compile(r">\s*>\s*>\s*(?=\()")
_CALLED = re.compile(r"(?<!\w)(\w+)\s*\(")
_NO_KERNELS = ("__launch_bounds__", "__attribute__", "__cluster_dims__", "alignas")
_ADDRESS = r"\(\s*(?:const\s+)?void\s*(?:const\s*)?\*\s*\)\s*&?\s*(?=(?P<name>\w+)\s*[<,;)}\]])"
_LAUNCHED = re.compile(r"\bcudaLaunch(?:Cooperative)?Kernel\s*\(\s*\Z")
LINE = re.compile(r"\n(?:#[^\n]*\n)*")
_NULL = {"0", "NULL", "__null"}


def translate(source: Source, edits: Edits, of_block: Callable[[str, int], str | None]) -> None:
    """Put calls in the place of launches.

    Args:
        source: The source.
        edits: Where the replacements go.
        of_block: Returns the function that a kernel, launched at a place, is for a whole block, if any.

    Raises:
        SourceError: If a launch is not well-formed.
    """
    for match in openings(source):
        _translate(source, edits, match.start(), match.end(), of_block)
    names = {called[1] for _, called in kernels(source)}
    for match in source.find(_ADDRESS):
        # a variable that is launched may have a kernel's type, which tells its parameters
        if match["name"] in names or _LAUNCHED.search(
            source.code[max(0, match.start() - 80) : match.start()]
        ):
            edits.replace(*match.span(), "::morph_cuda::kernel_address->*")


def openings(source: Source) -> Iterator[re.Match[str]]:
    """Yield where launches begin; in ``cerr << "text" << x`` a literal is between."""
    return (match for match in source.find(_OPENING) if match[0] == source.text[slice(*match.span())])


def kernels(source: Source) -> Iterator[tuple[int, re.Match[str]]]:
    """Yield where the kernels are declared, each with the match of its name and the parenthesis after it."""
    for match in source.find(r"__global__(?!\w)"):
        place = match.end()
        while (called := _CALLED.search(source.code, place)) and called[1] in _NO_KERNELS:
            place = source.close(called.end() - 1)
        if called:
            yield match.start(), called


def _translate(
    source: Source, edits: Edits, start: int, end: int, of_block: Callable[[str, int], str | None]
) -> None:
    closing = _END.search(source.code, end)
    if closing is None:
        raise source.error(start, "a launch <<<...>>> that does not end")
    first = _start_of_kernel(source.code, start)
    kernel, how = source.text[first:start].strip(), source.text[end : closing.start()]
    arguments = list(arguments_of(source, closing.end()))
    body = f"[=](auto&&... morph_given) {{ {kernel}(morph_given...); }}"
    function = of_block(kernel, start)
    given = "auto& morph_regions, auto&&... morph_given"
    regional = (
        f"[=]({given}) {{ return {function}(morph_regions, morph_given...); }}" if function else "nullptr"
    )
    comma = ", " if any(source.code[slice(*each)].strip() for each in arguments) else ""
    head = f"::morph_cuda::launch(::morph_cuda::Configuration({how}), {body}, {regional}{comma}"
    # a macro in its arguments makes the preprocessor begin a line anew
    edits.replace(first, closing.end() + 1, LINE.sub(" ", head))
    for argument in arguments:
        if source.code[slice(*argument)].strip() in _NULL:
            edits.replace(*argument, "::morph_cuda::Zero{}")


def arguments_of(source: Source, opening: int) -> Iterator[tuple[int, int]]:
    """Yield where each argument between a bracket and its end starts and ends."""
    depth, start = 0, opening + 1
    for match in re.compile(r"[()\[\]{},]").finditer(source.code, opening):
        depth += (match[0] in CLOSING) - (match[0] in CLOSING.values())
        if not depth or (match[0] == "," and depth == 1):
            yield start, match.start()
            start = match.end()
        if not depth:
            return


def _start_of_kernel(code: str, end: int) -> int:
    """Return where a kernel that ends at ``end`` begins: ``space::name<int, f(1)>``, ``kernels[i]``."""
    index = _before_spaces(code, end)
    if code[index - 1] == ")":
        return _opening(code, index, "(", ")")
    if code[index - 1] == ">":
        index = _before_spaces(code, _opening(code, index, "<", ">"))
    while code[index - 1] == "]":
        index = _before_spaces(code, _opening(code, index, "[", "]"))
    while index and (code[index - 1].isalnum() or code[index - 1] in "_:."):
        index -= 1
    return index


def _before_spaces(code: str, end: int) -> int:
    while end and code[end - 1].isspace():
        end -= 1
    return end


def _opening(code: str, end: int, opening: str, closing: str) -> int:
    """Return where a bracket opens that closes before ``end``; < and > in parentheses compare."""
    depth, index = 0, end - 1
    while index >= 0:
        if code[index] == closing and code[index - 1 : index + 1] != "->":
            depth += 1
        elif code[index] == opening:
            depth -= 1
            if not depth:
                return index
        elif code[index] == ")":
            index = _opening(code, index + 1, "(", ")")
        index -= 1
    return 0
