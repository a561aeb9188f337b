"""What of morph's headers waits for other threads, against the names by which the translation knows it."""

import re
import subprocess

from morph.kernels.extensions import block_functions, commands
from morph.kernels.extensions.source import Source

BASIC = {
    "wait_for_block",
    "wait_for_warp",
    "wait_for_grid",
    "wait_for_copies",
    "wait_at",
    "arrive_at",
    "wake",
}
BASIC |= {
    "looked",
    "vote",
    "has_read",
    "copy_later",
    "end_group_of_copies",
    "lanes_here",
    "let_others_on",
    "here",
}
HEADERS = re.compile(r"/extensions/include/|/cuda-[0-9a-f]{20}/include/")
HARMLESS = {"atomicAdd"}  # waits only in a loop, which `_SPINS` knows


def headers(toolkit):
    """Return the code of morph's own headers, preprocessed."""
    names = sorted(each.name for each in (commands.INCLUDE / "morph").glob("*.h"))
    text = "".join(
        f'#include "{name}"\n' for name in ["cuda_runtime.h", *(f"morph/{name}" for name in names)]
    )
    options = ["-D__CUDACC__", "-D__CUDA_ARCH__=800", f"-I{toolkit / 'include'}", f"-I{commands.INCLUDE}"]
    command = ["c++", "-E", "-x", "c++", *options, "-"]
    done = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    parts = re.split(r'^# \d+ "([^"]*)".*\n', done.stdout, flags=re.MULTILINE)
    return "".join(code for file, code in zip(parts[1::2], parts[2::2], strict=True) if HEADERS.search(file))


def around(source, place):
    """Return the name of the outermost function or type around a place, and the namespace around it."""
    brace, outermost, namespace = source.enclosing(place), "", ""
    while brace >= 0:
        head = re.split(r"[;{}]", source.head(brace))[-1]
        if found := re.search(r"\bnamespace\b\s*([\w:]*)\s*\Z", head):
            namespace = f"{found[1]}::{namespace}"
        elif not head.rstrip().endswith("extern"):
            outermost = head
        brace = source.enclosing(brace)
    outermost = re.sub(r"template\s*<[^{]*?>\s*(?=\w)", "", outermost, count=1)
    called = [each for each in re.findall(r"(\w+)\s*\(", outermost) if each not in block_functions._NO_NAMES]
    type_ = re.search(r"\b(?:struct|class|union)\s+(\w+)", outermost)
    return called[0] if called else type_[1] if type_ else "", namespace


def waiting(source):
    """Return what calls what waits, with its namespace."""
    names, more, found = set(), BASIC, set()
    while more:
        names |= more
        calls = rf"(?<![\w.])(?<!->)(?<!std::)(?:{'|'.join(sorted(more))})\s*(?:<[^;<>()]*>\s*)?(?:\w+\s*)?\("
        new = {around(source, match.start()) for match in source.find(calls)}
        found |= {(name, namespace) for name, namespace in new if name}
        more = {name for name, _ in new if name} - names
    return found


def test_the_translation_knows_each_name_that_waits(toolkit):
    found = waiting(Source(headers(toolkit)))
    assert {"__syncthreads", "__shfl_sync", "__nanosleep", "atomicCAS"} <= {name for name, _ in found}
    unknown = {
        name for name, namespace in found if not namespace and not block_functions._WAITS.search(f" {name}(")
    }
    assert unknown == HARMLESS
