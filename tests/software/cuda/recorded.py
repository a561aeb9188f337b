"""torch's operator database on a real card: each call must end on the device as it ended there.

What is compared is what a program sees beside the numbers: the results' dtypes, shapes, strides, devices and
aliases, or the type and the words of the error. Where there is CUDA,
``python -m tests.software.cuda.recorded --record FILE`` records it;
``python -m morph --backend cpu -m tests.software.cuda.recorded`` compares all of it.
"""

import argparse
import dataclasses
import datetime
import functools
import itertools
import json
import lzma
import pathlib
import re
import sys
import warnings
import zlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import torch
from torch.utils import _pytree

from tests.software.cuda import operator_database as database

RECORD = pathlib.Path(__file__).parent / "h100.json.xz"
SAMPLES = 3  # of each operator and dtype; twice as many of float32
TYPES = (torch.float32, torch.float64, torch.float16, torch.bfloat16, torch.complex64, torch.complex128)
TYPES += (torch.complex32, torch.bool, torch.uint8, torch.int8, torch.int16, torch.int32, torch.int64)
TOO_SLOW = {"nn.functional.linear_cross_entropy"}
WORDS = 220  # characters of an error
NO_KERNEL = "This could be because"  # before what depends on the release

# Why an outcome differs, by a pattern of the operator, the call and both outcomes.
KERNEL, WORDING = "the CPU has no kernel for the type", "the name of the kernel, or a library's words"
KNOWN = {
    r"^(aminmax|nextafter|narrow_copy) ": "torch 2.13 has gradients or a kernel for out= that 2.11 has not",
    r"^linalg\.eig ": "the library that the card's torch chooses",
    r"^(svd|pca)_lowrank complex": "a conjugation that is resolved there",
    r"^nn\.functional\.softsign complex32": "the absolute values of no numbers are of single precision",
    r"^nn\.functional\.(max_unpool|pad|rrelu|adaptive_avg_pool3d).* \| E:NotImplemented": KERNEL,
    r"^(eye|tri[lu]_indices|logcumsumexp|jiterator_unary|nan(mean|sum)) .* \| E:": KERNEL,
    r"^((nan)?median|(linalg\.)?svd) .* \| E:": KERNEL,
    r"(_norm|_legit|_with_update|trilinear|conv_transpose\dd|dropout)\b.* E:.* \| E:": WORDING,
    r"(linalg\.lu|lu_factor_ex|aminmax|addmm)\b.* E:.* \| E:": WORDING,
}


@dataclasses.dataclass(frozen=True)
class Ended:
    """How a call of an operator ended.

    Attributes:
        sample: The number of the sample.
        variant: "f" for a plain call, "i" in place, "o" with out=.
        given: A checksum of the arguments; a release of torch may have other samples.
        outcome: The error, or for each result dtype, shape, strides, offset, lazy conjugation and negation,
            device type, whether it requires a gradient and whether it shares an argument's memory.
    """

    sample: int
    variant: str
    given: int
    outcome: Any


@functools.cache
def record() -> dict[str, Any]:
    """Return the record: "card", "torch", "date" and "outcomes", a list for each operator and dtype."""
    recorded: dict[str, Any] = json.loads(lzma.decompress(RECORD.read_bytes()))
    return recorded


def calls(name: str, dtype: torch.dtype) -> Iterator[Ended]:
    """Call an operator on CUDA's device with the samples of a dtype."""
    op = database.OPERATORS[name]
    torch.manual_seed(0)
    differentiable = op.supports_autograd and (dtype.is_floating_point or dtype.is_complex)
    count = SAMPLES * (2 if dtype is torch.float32 else 1)
    try:
        samples = list(itertools.islice(op.sample_inputs("cpu", dtype, requires_grad=differentiable), count))
    except Exception:  # some samples are computed, by what may not take the dtype
        return
    for number, sample in enumerate(samples):
        given = _checksum(database.inputs(sample, "cpu"))
        for variant, call in _variants(op, sample):
            yield Ended(number, variant, given, _outcome(call, sample))


def differences(name: str, types: Iterable[torch.dtype] = TYPES) -> tuple[int, list[str]]:
    """Return how many calls of an operator were compared, and those that differ for no known reason."""
    compared, found = 0, []
    for dtype in types:
        rows = record()["outcomes"].get(name, {}).get(_name(dtype), [])
        known = {tuple(row[:3]): row[3] for row in rows}
        for ended in calls(name, dtype) if known else ():
            key = ended.sample, ended.variant, ended.given
            if key not in known:
                continue
            compared += 1
            if not _is_same(known[key], ended.outcome):
                line = f"{name} {_name(dtype)} {ended.sample} {ended.variant}: {known[key]} | {ended.outcome}"
                found += [] if any(re.search(each, line) for each in KNOWN) else [line]
    return compared, found


def _is_same(expected: Any, outcome: Any) -> bool:
    if isinstance(expected, str) and isinstance(outcome, str):
        return expected.split(NO_KERNEL)[0] == outcome.split(NO_KERNEL)[0]
    return type(expected) is type(outcome) and _shown(expected) == _shown(outcome)


def _shown(outcome: Iterable[Any]) -> list[Any]:
    return [_without_strides(leaf) if isinstance(leaf, list) else leaf for leaf in outcome]


def _without_strides(leaf: list[Any]) -> list[Any]:
    """Return a result without its strides if it has no elements."""
    return [*leaf[:2], None, *leaf[3:]] if 0 in (leaf[1] or ()) else leaf


def _name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def _variants(op: Any, sample: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    yield "f", op
    if op.inplace_variant and not sample.broadcasts_input and isinstance(sample.input, torch.Tensor):
        yield "i", functools.partial(_in_place, op.inplace_variant)
    if op.supports_out and not op.name.startswith("_"):
        yield "o", functools.partial(_into, op)


def _in_place(call: Callable[..., Any], first: torch.Tensor, *arguments: Any, **options: Any) -> Any:
    return call(first.clone() if first.requires_grad else first, *arguments, **options)


def _into(op: Any, *arguments: Any, **options: Any) -> Any:
    with torch.no_grad():
        result = op(*arguments, **options)
        given = _pytree.tree_map_only(torch.Tensor, lambda each: each.new_empty(0), result)
        op(*arguments, **options, out=given)
    return given


def _outcome(call: Callable[..., Any], sample: Any) -> Any:
    given: tuple[tuple[Any, ...], Mapping[str, Any]] = database.inputs(sample, "cuda")
    torch.manual_seed(7)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            result = call(*given[0], **given[1])
        torch.cuda.synchronize()
    except Exception as error:
        return f"E:{type(error).__name__}: {' '.join(str(error).split())[:WORDS]}"
    memory = {_address(each) for each in _tensors(given)}
    return [_seen(leaf, memory) for leaf in _pytree.tree_leaves(result)]


def _tensors(values: Any) -> list[torch.Tensor]:
    return [each for each in _pytree.tree_leaves(values) if isinstance(each, torch.Tensor)]


def _is_strided(tensor: torch.Tensor) -> bool:
    return tensor.layout is torch.strided and not tensor.is_nested


def _address(tensor: torch.Tensor) -> int | None:
    return tensor.untyped_storage().data_ptr() if _is_strided(tensor) else None


def _seen(leaf: Any, memory: set[int | None]) -> Any:
    if not isinstance(leaf, torch.Tensor):
        return repr(leaf)[:40] if isinstance(leaf, (int, float, complex, str)) else str(leaf)[:60]
    shape = None if leaf.is_nested else list(leaf.shape)
    strides, offset = (list(leaf.stride()), leaf.storage_offset()) if _is_strided(leaf) else (None, 0)
    shares = strides is not None and leaf.numel() > 0 and _address(leaf) in memory
    lazy = int(leaf.is_conj()) + 2 * int(leaf.is_neg())
    return [_name(leaf.dtype), shape, strides, offset, lazy, leaf.device.type, leaf.requires_grad, shares]


def _checksum(given: Any) -> int:
    tensors = [
        [_name(each.dtype), list(each.shape) if not each.is_nested else 0, _sums(each)]
        for each in _tensors(given)
    ]
    others = [each for each in _pytree.tree_leaves(given) if isinstance(each, (int, float, str, type(None)))]
    return zlib.crc32((json.dumps(tensors) + repr(others)).encode())


def _sums(tensor: torch.Tensor) -> list[float] | None:
    """Return how many numbers are not finite, the sum of the magnitudes and a weighted mean."""
    if tensor.numel() == 0 or not _is_strided(tensor) or tensor.is_quantized:
        return None
    flat = tensor.detach().resolve_conj().resolve_neg()
    wide = flat.to(torch.complex128).abs() if flat.is_complex() else flat.to(torch.float64)
    infinite = int((~torch.isfinite(wide)).sum())
    wide = torch.where(torch.isfinite(wide), wide, 0.0)
    weights = torch.arange(1, wide.numel() + 1, dtype=torch.float64).reshape(wide.shape)
    mean = (wide * weights).sum().item() / weights.sum().item()
    return [infinite, float(f"{wide.abs().sum().item():.5g}"), float(f"{mean:.5g}")]


def _recorded() -> dict[str, Any]:
    outcomes: dict[str, Any] = {}
    for name in sorted(set(database.OPERATORS) - TOO_SLOW):
        for dtype in TYPES:
            rows = [list(dataclasses.astuple(ended)) for ended in calls(name, dtype)]
            outcomes.setdefault(name, {})[_name(dtype)] = rows
    return {
        "card": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "date": datetime.date.today().isoformat(),
        "outcomes": outcomes,
    }


def main() -> int:
    """Record, or compare and print what differs; the exit status is 1 if something does."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("operators", nargs="*", help="of torch's database; without them all")
    parser.add_argument("--record", type=pathlib.Path, help="the file to write")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    if options.record:
        text = json.dumps(_recorded(), separators=(",", ":"))
        options.record.write_bytes(lzma.compress(text.encode(), preset=9))
        return 0
    total, different = 0, 0
    for name in options.operators or sorted(record()["outcomes"]):
        compared, found = differences(name)
        print(*found, sep="\n", end="\n" if found else "", flush=True)
        total, different = total + compared, different + len(found)
    print(f"{total} calls compared with {record()['card']}, {different} differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
