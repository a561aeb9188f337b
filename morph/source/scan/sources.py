"""The uses of CUDA in C++: a file of CUDA source, and what in it not every backend can build."""

from __future__ import annotations

import bisect
import re
from collections.abc import Callable, Iterator, Sequence

from morph.kernels import extensions
from morph.source.module import Place
from morph.source.scan.uses import Kind, Use

FEATURE, LIBRARY, SOURCE, ASSEMBLY = "cuda-feature", "cuda-library", "cuda-source", "cuda-assembly"
_CUDA = re.compile(
    rb"__(?:global|device)__|\bcuda\w*\s*[(.]|#\s*include\s*[<\"](?:\w+/)?(?:cu|nv|nccl|thrust|mma)"
)
_COMMENT = re.compile(
    r'//[^\n]*|/\*.*?\*/|R"([^(\s"]*)\(.*?\)\1"|"(?:[^"\\\n]|\\.)*"|(?<![0-9A-Fa-f])\'(?:[^\'\\\n]|\\.)+\'',
    re.DOTALL,
)
_DIRECTIVE = re.compile(r"^[ \t]*#[ \t]*(if|ifdef|ifndef|elif|else|endif)\b(.*)$", re.MULTILINE)
_AMD = re.compile(r"\bUSE_ROCM\b|\b__HIP")
_NOT_AMD = re.compile(rf"^ifndef\s*(?:{_AMD.pattern})|!\s*(?:defined\b\s*\(?\s*)?(?:{_AMD.pattern})")
_RELEASE = r"^(?:el)?if\s*\(?\s*__CUDACC_VER_MAJOR__\s*"
_SINCE_12, _BEFORE_12 = (
    re.compile(rf"{_RELEASE}{rest}\s*\)?\s*$") for rest in (r">=\s*(?:\d|1[0-2])", r"<\s*(?:\d|1[0-2])")
)
_INCLUDE = re.compile(r'^[ \t]*#[ \t]*include[ \t]*[<"]([^>"\n]+)[>"]', re.MULTILINE)


def mentions_cuda(source: bytes) -> bool:
    """Return whether a file of C++ may have to do with CUDA."""
    return _CUDA.search(source) is not None


def uses_of_source(text: str, name: str, is_cuda: bool) -> list[Use]:
    """Return the uses in a file of C++, in the order of its lines.

    Args:
        text: What is in the file.
        name: Its name, for a reader.
        is_cuda: Whether it is CUDA source by its name.
    """
    plain = _COMMENT.sub(lambda match: _blank(match[0]) if match[0].startswith("/") else match[0], text)
    code = _kept(plain, _is_for_cuda)
    starts = [0, *(match.end() for match in re.finditer("\n", code))]
    found = [(*match.span(1), match[1]) for match in _INCLUDE.finditer(code)]
    uses = [_use(starts, start, end, *header) for start, end, each in found for header in _refused(each)]
    expanded = _expanded(code)
    features = extensions.refused(expanded, _expanded(_kept(code, _is_first)))
    uses += [_use(starts, each.start, each.end, each.name, FEATURE) for each in features]
    translated = extensions.translated_assembly(expanded)
    uses += [_use(starts, *each, "inline PTX", ASSEMBLY) for each in translated]
    whole = [Use(Place(1, 1, 1, 1), name, Kind.LOOK, SOURCE)] if is_cuda else []
    return whole + sorted(uses, key=lambda use: use.place)


def _refused(header: str) -> Iterator[tuple[str, str]]:
    name = extensions.refused_header(header)
    if name is not None:
        yield name, LIBRARY if name in extensions.refused_libraries() else FEATURE


def _use(starts: list[int], start: int, end: int, name: str, rule: str) -> Use:
    line, last = bisect.bisect_right(starts, start), bisect.bisect_right(starts, end)
    place = Place(line, start - starts[line - 1] + 1, last, end - starts[last - 1] + 1)
    return Use(place, name, Kind.LOOK, rule)


def _expanded(code: str) -> str:
    """Return the code as a preprocessor's: what a macro stands for counts, other directives do not."""
    code = code.replace("\\\n", " \n")
    code = re.sub(r"^([ \t]*)#[ \t]*define\b", lambda match: _blank(match[0]), code, flags=re.MULTILINE)
    return re.sub(r"^[ \t]*#[^\n]*", lambda match: _blank(match[0]), code, flags=re.MULTILINE)


def _kept(code: str, wanted: Callable[[Sequence[str]], bool]) -> str:
    """Return the code with blanks for the branches of ``#if`` that are not wanted.

    Args:
        code: Without comments.
        wanted: Called with the directives of one ``#if``, as far as to the branch in question.
    """
    parts, last = [], 0
    chains: list[list[str]] = []
    for match in _DIRECTIVE.finditer(code):
        region = code[last : match.start()]
        parts.append(region if all(map(wanted, chains)) else _blank(region))
        last = match.start()
        if match[1].startswith("if"):
            chains.append([match[1] + match[2]])
        elif chains and match[1] == "endif":
            chains.pop()
        elif chains:
            chains[-1].append(match[1] + match[2])
    return "".join([*parts, code[last:]])


def _is_for_cuda(chain: Sequence[str]) -> bool:
    if _BEFORE_12.search(chain[-1]) or any(map(_SINCE_12.search, chain[:-1])):
        return False  # for releases of nvcc before 12
    if chain[-1].startswith("else"):
        return not _NOT_AMD.search(chain[-2])
    return not _AMD.search(chain[-1]) or _NOT_AMD.search(chain[-1]) is not None


def _is_first(chain: Sequence[str]) -> bool:
    wanted = [_is_for_cuda(chain[:length]) for length in range(1, len(chain) + 1)]
    return wanted[-1] and not any(wanted[:-1])


def _blank(text: str) -> str:
    return re.sub(r"[^\n]", " ", text)
