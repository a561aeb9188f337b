"""The samples: source with a comment on each line that says what a scan finds there."""

import pathlib
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping

from morph.backends.tables import table
from morph.source.scan.names import ROOTS
from morph.source.scan.rules import rules
from morph.source.scan.uses import Kind, Use

FOLDER = pathlib.Path(__file__).parent / "samples"
FILES = sorted(FOLDER.glob("*.py"))
MARK = "  #: "

TOOLS = ("nvidia-smi", "nvidia-settings", "nvcc", "nsys", "ncu", "nvprof", "cuda-gdb", "cuobjdump")
TOOLS += ("nvdisasm", "compute-sanitizer")
LIBRARIES = ("cuda", "cudart", "cublas", "cublasLt", "cudnn", "cufft", "cufile", "cupti", "curand")
LIBRARIES += ("cusolver", "cusparse", "nccl", "nvcuda", "nvidia-ml", "nvml", "nvrtc", "nvToolsExt")
LIBRARIES += ("nvJitLink",)

Lines = Mapping[int, Counter[str]]


def expected(file: pathlib.Path) -> Lines:
    """Returns the uses that a sample's comments list, by line."""
    lines = enumerate(file.read_text(encoding="utf-8").splitlines(), 1)
    said = ((number, line.partition(MARK)[2]) for number, line in lines if MARK in line)
    return {number: Counter(re.split(r", (?![^(]*\))", text)) for number, text in said}


def found(uses: Iterable[Use]) -> Lines:
    """Returns the uses that a scan has found, by line, spelled as in the comments."""
    lines: dict[int, Counter[str]] = {}
    for use in uses:
        compared = "== " if use.kind is Kind.COMPARISON else ""
        said = f"{compared}{use.name} {use.rule}".strip()
        lines.setdefault(use.place.line, Counter())[said] += 1
    return lines


def single_uses() -> Iterator[tuple[str, str]]:
    """Yields single uses of CUDA, each with a one-line file that contains nothing else."""
    yield from ((name, f"import torch; {name}") for name in (*ROOTS, "torch._C._nvtx.rangePop"))
    yield from ((name, f"import ctypes; ctypes.CDLL('lib{name}.so')") for name in LIBRARIES)
    yield from ((name, f"import subprocess; subprocess.run(['{name}'])") for name in TOOLS)
    rows = [each for name in table.backend_names() for each in table.load(name).environment.values()]
    served = {each.name for each in rows if not each.default}
    ruled = {name for rule in rules().values() for name in rule.variables}
    yield from ((name, f"import os; os.environ['{name}']") for name in sorted(served | ruled))
