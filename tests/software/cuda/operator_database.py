"""torch's own operator database: every sample must have the same outcome on the device and on the CPU.

The strides of the results are not compared: CUDA's are in the record of a real card (recorded.py).

``python -m morph --backend cpu -m tests.software.cuda.operator_database`` compares all of it, or only
the operators, dtypes and number of samples of each that are given: ``… softmax float32 4``.
"""

from __future__ import annotations

import dataclasses
import itertools
import sys
import time
import warnings
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import torch
from torch.testing._internal.common_methods_invocations import op_db
from torch.utils import _pytree
from torch.utils._python_dispatch import TorchDispatchMode

DEVICE = "cuda"
HALVES = torch.float16, torch.bfloat16
OPERATORS = {op.full_name: op for op in op_db}
FACTORIES = {"arange", "linspace", "logspace", "full", "ones", "zeros", "eye", "empty"}
ONLY_ON_THE_CPU = {"sparse.mm.reduce"}
OF_HOST_ARGUMENTS = {"tensor_split"}  # CUDA also takes its indices from the host
# here torch sums halves in float32 on CUDA and in halves on the CPU
SUMMED_OTHERWISE = {"nn.functional.linear_cross_entropy"}
# the contents of their results are undefined
UNINITIALISED = {"empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided"}
UNINITIALISED |= {"resize_", "resize_as_"}


@dataclasses.dataclass
class Tally:
    """The number of samples compared, and the differences found.

    Attributes:
        samples: Calls compared.
        gradients: Backward passes compared.
        refused: Calls that fail on both sides.
        differences: The differences, one line each.
    """

    samples: int = 0
    gradients: int = 0
    refused: int = 0
    differences: list[str] = dataclasses.field(default_factory=list)

    def add(self, other: Tally) -> None:
        """Adds another tally to this one."""
        self.samples += other.samples
        self.gradients += other.gradients
        self.refused += other.refused
        self.differences += other.differences


class Drawing(TorchDispatchMode):
    """Detects whether any operator draws random numbers.

    Attributes:
        seen: Whether an operator has drawn random numbers.
    """

    seen = False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Runs the operator and checks its tag."""
        self.seen |= torch.Tag.nondeterministic_seeded in func.tags
        return func(*args, **(kwargs or {}))


class Difference(Exception):
    """The result on the device differs from the result on the CPU."""


def compare(name: str, dtype: torch.dtype, most: int | None = None) -> Tally:
    """Compares the samples of an operator on the device and on the CPU.

    Args:
        name: The operator's full name, such as ``"nn.functional.conv2d"``.
        dtype: The dtype of the samples.
        most: The maximum number of samples; None takes all.

    Returns:
        The tally of this operator.
    """
    op, tally = OPERATORS[name], Tally()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for index, sample in enumerate(_samples(op, dtype)):
            if most is not None and index >= most:
                break
            for variant, call in _variants(op, sample):
                _compare_one(op, dtype, sample, call, f"{name} {dtype} {index} {variant}", tally)
    return tally


def dtypes(name: str) -> list[torch.dtype]:
    """Returns the dtypes that the operator supports on the CPU and on CUDA."""
    op = OPERATORS[name]
    return sorted(op.supported_dtypes("cpu") & op.supported_dtypes("cuda"), key=str)


def refused(name: str) -> list[torch.dtype]:
    """Returns the dtypes that the operator supports on the CPU only."""
    op = OPERATORS[name]
    return sorted(op.supported_dtypes("cpu") - op.supported_dtypes("cuda"), key=str)


def only_cuda(name: str) -> list[torch.dtype]:
    """Returns the dtypes that the operator supports on CUDA only."""
    op = OPERATORS[name]
    return sorted(op.supported_dtypes("cuda") - op.supported_dtypes("cpu"), key=str)


def unserved(name: str, dtype: torch.dtype) -> str:
    """Compares samples of a dtype that only CUDA computes with the CPU's results in a wider one.

    Returns:
        What differs, or nothing.
    """
    op = OPERATORS[name]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for sample in itertools.islice(_samples(op, dtype), 3):
            actual = _called(op, inputs(sample, DEVICE))
            if isinstance(actual, Exception):
                return _told(actual)
            expected = _called(op, _widened(inputs(sample, "cpu"), dtype))
            drawn = _draws(op, sample)
            if isinstance(expected, Exception):  # nansum of complex numbers has no kernel on the CPU
                continue
            for one, other in zip(_tensors(expected), _tensors(actual), strict=True):
                if not drawn and not _is_near(one.detach().to(other.dtype), other.detach().cpu()):
                    return f"{other} for {one}"
    return ""


def _is_near(expected: torch.Tensor, actual: torch.Tensor) -> bool:
    wide = torch.complex128 if expected.is_complex() else torch.float64
    expected, actual = expected.to(wide), actual.to(wide)
    sums = 0.01 * expected.abs().nan_to_num(0, 0, 0).max().item() if expected.numel() else 0
    return torch.allclose(actual, expected, rtol=0.01, atol=max(sums, 0.001), equal_nan=True)


def _widened(inputs: Any, dtype: torch.dtype) -> Any:
    wide = {torch.complex32: torch.complex64, torch.bool: torch.uint8, **dict.fromkeys(HALVES, torch.float32)}
    target = wide.get(dtype, dtype if dtype.is_complex else torch.float64)
    widen = lambda each: each.to(target) if isinstance(each, torch.Tensor) and each.dtype is dtype else each  # noqa: E731
    return _pytree.tree_map(lambda each: target if each is dtype else widen(each), inputs)


def is_refused(name: str, dtype: torch.dtype) -> bool:
    """Returns whether the device refuses a sample; of some, such as empty ones, CUDA starts no kernel."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        samples = (inputs(sample, DEVICE) for sample in _samples(OPERATORS[name], dtype))
        # cuDNN's refusals are no NotImplementedError
        return any(isinstance(_called(OPERATORS[name], sample), RuntimeError) for sample in samples)


def _samples(op: Any, dtype: torch.dtype) -> Iterator[Any]:
    torch.manual_seed(0)
    with_gradient = op.supports_autograd and dtype in op.supported_backward_dtypes("cpu")
    return iter(op.sample_inputs("cpu", dtype, requires_grad=with_gradient))


def _variants(op: Any, sample: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    yield "result", op
    if op.inplace_variant and not sample.broadcasts_input and isinstance(sample.input, torch.Tensor):
        yield "in place", _in_place(op.inplace_variant)
    if op.supports_out and not op.name.startswith("_"):
        yield "out=", _into(op)


def _in_place(call: Callable[..., Any]) -> Callable[..., Any]:
    def run(first: torch.Tensor, *arguments: Any, **options: Any) -> Any:
        mine = first.clone() if first.requires_grad else _moved(first, first.device)
        result = call(mine, *arguments, **options)
        if result is not mine:
            raise Difference("another tensor came back")
        return result

    return run


def _into(op: Any) -> Callable[..., Any]:
    """Passes out= a tensor of another size first, then the result of that call."""

    def run(*arguments: Any, **options: Any) -> Any:
        with torch.no_grad():
            expected = op(*arguments, **options)
            given = _pytree.tree_map_only(torch.Tensor, lambda each: each.new_empty(0), expected)
            for _ in range(2):
                result = op(*arguments, **options, out=given)
            same = zip(_pytree.tree_leaves(result), _pytree.tree_leaves(given), strict=True)
            if not all(first is second for first, second in same):
                raise Difference("another tensor came back")
        return given

    return run


def _compare_one(
    op: Any, dtype: torch.dtype, sample: Any, call: Callable[..., Any], label: str, tally: Tally
) -> None:
    here, there = inputs(sample, "cpu"), inputs(sample, DEVICE)
    if op.name in OF_HOST_ARGUMENTS:
        there = (there[0][0], *here[0][1:]), here[1]
    expected = _called(call, here)
    actual = _called(call, there)
    if isinstance(expected, Exception) or isinstance(actual, Exception):
        of_the_cpu = op.full_name in ONLY_ON_THE_CPU and isinstance(actual, NotImplementedError)
        if type(expected) is type(actual) or of_the_cpu:
            tally.refused += 1
        else:
            tally.differences.append(f"{label}: {_told(actual)} for {_told(expected)}")
        return
    tally.samples += 1
    try:
        drawn = op.name in UNINITIALISED or _draws(op, sample)
        _check(expected, actual, values=not drawn, device=_device_of(op, there), within=_within(op, dtype))
        if drawn:
            _check_determinism(op, call, sample)
        elif _backward(expected, actual, here, there, _within(op, dtype)):
            tally.gradients += 1
    except (AssertionError, RuntimeError) as error:  # a TPU's program is compiled when its values are read
        tally.differences.append(f"{label}: {str(error).strip().splitlines()[0]} … {_last(error)}")


def inputs(sample: Any, device: str) -> tuple[tuple[Any, ...], Mapping[str, Any]]:
    def place(value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            with torch.no_grad():
                return _moved(value, torch.device(device)).requires_grad_(value.requires_grad)
        if value == "cpu" or value == torch.device("cpu"):
            return torch.device(device)
        return value

    leaf: Any = lambda value: isinstance(value, torch.Size)  # noqa: E731
    moved = _pytree.tree_map(place, ((sample.input, *sample.args), sample.kwargs), is_leaf=leaf)
    return moved  # type: ignore[no-any-return]


def _moved(tensor: torch.Tensor, device: torch.device) -> torch.Tensor:
    """Copies a tensor with its strides and offset, even where elements overlap."""
    if tensor.layout is not torch.strided or tensor.is_conj() or tensor.is_neg() or tensor.is_quantized:
        return tensor.detach().to(device, copy=True)
    if tensor.is_nested:
        return tensor.detach().clone()
    flat = torch.empty(0, dtype=tensor.dtype, device=tensor.device).set_(tensor.detach().untyped_storage())
    return flat.to(device, copy=True).as_strided(tensor.size(), tensor.stride(), tensor.storage_offset())


def _called(call: Callable[..., Any], inputs: tuple[tuple[Any, ...], Mapping[str, Any]]) -> Any:
    try:
        return call(*inputs[0], **inputs[1])
    except Exception as error:
        return error


def _device_of(op: Any, inputs: Any) -> str:
    """Returns the expected device of the results: the host for a factory called without a device."""
    given = any(isinstance(each, torch.device) for each in _pytree.tree_leaves(inputs))
    return DEVICE if given or op.name not in FACTORIES else "cpu"


def _within(op: Any, dtype: torch.dtype) -> float | None:
    """Returns the tolerance of the results; None for torch's default."""
    return 0.02 if dtype in HALVES and op.name in SUMMED_OTHERWISE else None


def _draws(op: Any, sample: Any) -> bool:
    with Drawing() as drawing:
        _called(op, inputs(sample, "cpu"))
    return drawing.seen


def _told(outcome: Any) -> str:
    if isinstance(outcome, Exception):
        return f"{type(outcome).__name__} {str(outcome).splitlines()[0][:200] if str(outcome) else ''}"
    return "a result"


def _last(error: Exception) -> str:
    return " | ".join(str(error).strip().splitlines()[1:])[:160]


def _tensors(outcome: Any) -> list[Any]:
    return [each for each in _pytree.tree_leaves(outcome) if isinstance(each, torch.Tensor)]


def _check(
    expected: Any, actual: Any, *, values: bool, device: str = DEVICE, within: float | None = None
) -> None:
    pairs = zip(_pytree.tree_leaves(expected), _pytree.tree_leaves(actual), strict=True)
    for one, other in pairs:
        if isinstance(one, torch.Tensor):
            _check_tensor(one, other, values=values, device=device, within=within)
        elif values and isinstance(one, (int, float, complex, bool, str, torch.dtype, torch.Size)):
            same = one == other or one != one
            assert same, f"{other} for {one}"


def _check_tensor(
    one: torch.Tensor, other: torch.Tensor, *, values: bool, device: str, within: float | None
) -> None:
    assert other.device.type == device, f"the result is on {other.device}"
    for what in ("dtype", "shape", "layout", "requires_grad"):
        assert getattr(one, what) == getattr(other, what), f"{what} {getattr(other, what)}"
    if one.layout is torch.strided and not one.is_nested:
        assert (one.is_conj(), one.is_neg()) == (other.is_conj(), other.is_neg()), "a lazy view"
    if values:
        pair = other.detach().cpu(), one.detach().cpu()
        torch.testing.assert_close(*pair, equal_nan=True, rtol=within, atol=within)


def _check_determinism(op: Any, call: Callable[..., Any], sample: Any) -> None:
    if op.name in UNINITIALISED:
        return
    drawn = []
    for _ in range(2):
        torch.manual_seed(1)
        host = torch.get_rng_state()
        drawn.append(_called(call, inputs(sample, DEVICE)))
        assert torch.equal(host, torch.get_rng_state()), "the host's generator has moved"
    _check(*drawn, values=True)


def _backward(expected: Any, actual: Any, here: Any, there: Any, within: float | None) -> bool:
    outputs = [
        [each for each in _tensors(outcome) if each.requires_grad and each.layout is torch.strided]
        for outcome in (expected, actual)
    ]
    inputs = [[each for each in _tensors(given) if each.requires_grad] for given in (here, there)]
    if not outputs[0] or not inputs[0]:
        return False
    gradients = [_gradients(*pair) for pair in zip(outputs, inputs, strict=True)]
    one, other = gradients
    if isinstance(one, Exception) or isinstance(other, Exception):
        assert type(one) is type(other), f"gradient: {_told(other)} for {_told(one)}"
        return False
    try:
        _check(one, other, values=True, within=within)
    except AssertionError as error:
        raise AssertionError(f"gradient: {error}") from error
    return True


def _gradients(outputs: list[torch.Tensor], inputs: list[torch.Tensor]) -> Any:
    try:
        seeds = [torch.linspace(0.5, 1.5, each.numel()).reshape(each.shape).to(each) for each in outputs]
        return torch.autograd.grad(outputs, inputs, seeds, allow_unused=True)
    except Exception as error:
        return error


def main(words: list[str]) -> None:
    """Compares the operators that the words name, or all of them, and prints the totals."""
    chosen = [word for word in words if word in OPERATORS] or sorted(OPERATORS)
    others = [word for word in words if word not in OPERATORS]  # "half" and a few others are both
    wanted = [getattr(torch, word) for word in others if isinstance(getattr(torch, word, None), torch.dtype)]
    most = next((int(word) for word in words if word.isdigit()), None)
    total, started, clean = Tally(), time.monotonic(), 0
    for name in chosen:
        tally = Tally()
        for dtype in dtypes(name):
            if not wanted or dtype in wanted:
                print(f"\r{name} {dtype}", end="", file=sys.stderr, flush=True)
                tally.add(compare(name, dtype, most))
        clean += not tally.differences
        print(*tally.differences, sep="\n", end="\n" if tally.differences else "", flush=True)
        total.add(tally)
    print(f"{clean} of {len(chosen)} operators agree: {total.samples} calls and {total.gradients} gradients,")
    print(f"{total.refused} refused by both, {len(total.differences)} differ")
    print(f"{time.monotonic() - started:.0f} s", file=sys.stderr)


if __name__ == "__main__":
    main(sys.argv[1:])
