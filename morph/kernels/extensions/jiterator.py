"""``torch.cuda.jiterator``: elementwise functions in CUDA C++, each in a kernel that its first call compiles.

As torch's own (``aten/src/ATen/cuda/jiterator.cu``): tensors are broadcast and promoted together, half and
bfloat16 are computed in float32, and the function's named arguments are numbers.
"""

from __future__ import annotations

import ctypes
import functools
import hashlib
import pathlib
import tempfile
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import torch

from morph.software import capture

_TYPES = {
    torch.bool: "bool",
    torch.uint8: "uint8_t",
    torch.int8: "int8_t",
    torch.int16: "int16_t",
    torch.int32: "int32_t",
    torch.int64: "int64_t",
    torch.float16: "c10::Half",
    torch.bfloat16: "c10::BFloat16",
    torch.float32: "float",
    torch.float64: "double",
    torch.complex64: "c10::complex<float>",
    torch.complex128: "c10::complex<double>",
}
_NUMBERS: dict[type, tuple[str, Any]] = {
    bool: ("bool", ctypes.c_bool),
    int: ("int64_t", ctypes.c_int64),
    float: ("double", ctypes.c_double),
    complex: ("c10::complex<double>", ctypes.c_double * 2),
}
_SOURCE = """
#include <c10/util/BFloat16.h>
#include <c10/util/Half.h>
#include <c10/util/complex.h>
#include <algorithm>
#include <exception>
#include <string>
{function}
using Stored = {stored};
using T = {computed};
struct Given {{
  void* in[{inputs}];
  void* out[{outputs}];
  T numbers[{count} + 1];
}};
__global__ void each(int64_t n, Given given) {{
  int64_t i = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= n) return;
  {body}
}}
extern "C" const char* launch(int64_t n, void** in, void** out, void** numbers) try {{
  Given given;
  std::copy_n(in, {inputs}, given.in), std::copy_n(out, {outputs}, given.out);
  {numbers}
  if (n) each<<<(n + 255) / 256, 256>>>(n, given);
  return nullptr;
}} catch (const std::exception& error) {{  // ctypes cannot pass it on
  static thread_local std::string message;
  return (message = error.what()).c_str();
}}
"""


class Kernel(NamedTuple):
    """What a kernel is compiled for.

    Attributes:
        code: The function, and those that it calls.
        name: Its name.
        by_reference: Whether it writes its results, rather than returns its only one.
        inputs: How many tensors it takes.
        outputs: How many results it has.
        numbers: The types of its named arguments.
        stored: The tensors' type.
        computed: The type that it computes in.
    """

    code: str
    name: str
    by_reference: bool
    inputs: int
    outputs: int
    numbers: tuple[type, ...]
    stored: torch.dtype
    computed: torch.dtype

    def source(self) -> str:
        """Return CUDA C++ that calls the function for each element."""
        # any byte but zero is true, as for c10::load
        read, suffix = ("uint8_t", " != 0") if self.stored is torch.bool else ("Stored", "")
        given = [f"T(static_cast<{read}*>(given.in[{i}])[i]{suffix})" for i in range(self.inputs)]
        given += [f"given.numbers[{i}]" for i in range(len(self.numbers))]
        results = [f"result{i}" for i in range(self.outputs)]
        call = f"{self.name}<T>({', '.join([*given, *(results if self.by_reference else [])])});"
        kept = [
            f"static_cast<Stored*>(given.out[{i}])[i] = Stored({name});" for i, name in enumerate(results)
        ]
        declared = f"T {', '.join(results)}; " if self.by_reference else f"T {results[0]} = "
        body = " ".join([declared + call, *kept])
        numbers = " ".join(
            f"given.numbers[{i}] = T(*static_cast<{_NUMBERS[kind][0]}*>(numbers[{i}]));"
            for i, kind in enumerate(self.numbers)
        )
        types = {"stored": _TYPES[self.stored], "computed": _TYPES[self.computed]}
        counts = {"inputs": self.inputs, "outputs": self.outputs, "count": len(self.numbers)}
        return _SOURCE.format(function=self.code, body=body, numbers=numbers, **types, **counts)


def compile_and_launch(
    code: str,
    name: str,
    by_reference: bool,
    outputs: int,
    tensors: Sequence[torch.Tensor],
    numbers: Mapping[str, complex],
) -> torch.Tensor | tuple[torch.Tensor, ...]:
    """Implement ``torch._C._cuda_jiterator_compile_and_launch_kernel``.

    Args:
        code: CUDA C++: templates of functions over one type, the last of which is called.
        name: Its name.
        by_reference: Whether it takes its results as references after all else, and returns nothing.
        outputs: How many results it has.
        tensors: Of one device.
        numbers: The named arguments.

    Returns:
        The result, or as many as there are.

    Raises:
        RuntimeError: If it does not compile, or the tensors do not fit together.
    """
    from torch._prims_common import ELEMENTWISE_TYPE_PROMOTION_KIND as PROMOTION
    from torch._prims_common import elementwise_dtypes

    for tensor in tensors:
        if tensor.layout is not torch.strided:
            raise RuntimeError(f"unsupported tensor layout: {tensor.layout}")
    devices = {tensor.device for tensor in tensors}
    if len(devices) > 1:
        found = " and ".join(sorted(map(str, devices), reverse=True)[:2])
        raise RuntimeError(
            f"Expected all tensors to be on the same device, but found at least two devices, {found}!"
        )
    computed, stored = elementwise_dtypes(*tensors, type_promotion_kind=PROMOTION.DEFAULT)
    given = [each.detach().to(stored).contiguous() for each in _broadcast(tensors)]
    results = [torch.empty_like(given[0]) for _ in range(outputs)]
    kinds = tuple(type(number) for number in numbers.values())
    kernel = Kernel(code, name, by_reference, len(given), outputs, kinds, stored, computed)
    launch = functools.partial(
        _launch,
        _compiled(kernel),
        given[0].numel(),
        _addresses(given),
        _addresses(results),
        _pointers(numbers),
    )
    with torch.cuda.device(given[0].device):
        if graph := capture.current():
            graph.add(launch)
        else:
            launch()
    return results[0] if outputs == 1 else tuple(results)


def _broadcast(tensors: Sequence[torch.Tensor]) -> Sequence[torch.Tensor]:
    shape = torch.broadcast_shapes(*[tensor.shape for tensor in tensors])  # type: ignore[no-untyped-call]
    return [tensor.expand(shape) for tensor in tensors]


@functools.cache
def _compiled(kernel: Kernel) -> ctypes.CDLL:
    from torch.utils import cpp_extension

    source = kernel.source()
    name = f"jiterator_{hashlib.sha256(source.encode()).hexdigest()[:16]}"
    with tempfile.TemporaryDirectory() as folder:
        file = pathlib.Path(folder, f"{name}.cu")
        file.write_text(source)
        library = cpp_extension.load(name, [str(file)], is_python_module=False)
    launch = (loaded := ctypes.CDLL(library)).launch
    launch.argtypes, launch.restype = [ctypes.c_int64, *[ctypes.c_void_p] * 3], ctypes.c_char_p
    return loaded


def _launch(library: ctypes.CDLL, *arguments: Any) -> None:
    if problem := library.launch(*arguments):
        raise RuntimeError(problem.decode())


def _addresses(tensors: Sequence[torch.Tensor]) -> Any:
    return (ctypes.c_void_p * len(tensors))(*map(_address, tensors))


def _address(tensor: Any) -> int:
    # as Tensor.data_ptr, which takes a lazy clone to be written to
    start: int = getattr(torch._C, "_data_address")(tensor)  # noqa: B009  # torch's stubs lack it
    return start + int(tensor.storage_offset()) * int(tensor.element_size())


def _pointers(numbers: Mapping[str, complex]) -> Any:
    kept = [_number(number) for number in numbers.values()]
    pointers = (ctypes.c_void_p * len(kept))(*[ctypes.addressof(each) for each in kept])
    pointers.kept = kept  # type: ignore[attr-defined]
    return pointers


def _number(number: complex) -> Any:
    kind = _NUMBERS[type(number)][1]
    return kind(number.real, number.imag) if isinstance(number, complex) else kind(number)
