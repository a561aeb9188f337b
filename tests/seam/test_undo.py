"""`disengage` puts back every pointer, registration and kernel, and the seam in Python everything too."""

import ctypes
import pathlib
from typing import Any

import pytest
import torch

from morph.device.seam.small import PythonSeam
from tests.seam.engaging import seam

pytestmark = [
    pytest.mark.platforms("simulated-npu", "npu", "simulated-xpu"),
    pytest.mark.usefixtures("vendor_worker"),
]

WORD = ctypes.sizeof(ctypes.c_void_p)
# Of CPython's type objects: tp_repr, tp_hash, tp_str, tp_richcompare, tp_new.
SLOTS = (11, 15, 17, 25, 39)
TYPES = [torch.device, torch.Event, torch.UntypedStorage]
DESCRIPTORS = [
    torch.Tensor.cuda,
    torch.Tensor.is_cuda,
    torch.device.type,
    torch.device.index,
    torch.device.__reduce__,
    torch.device.__enter__,
]


def words(address: int, count: int) -> tuple[int, ...]:
    return tuple((ctypes.c_uint64 * count).from_address(address))


def slots(kind: type) -> list[int]:
    return [words(id(kind), 40)[slot] for slot in SLOTS]


def library(name: str) -> ctypes.CDLL:
    return ctypes.CDLL(str(pathlib.Path(torch.__path__[0], "lib", f"lib{name}.so")))


def hooks_table() -> int:
    hooks: Any = library("torch_cpu")._ZN2at6detail12getCUDAHooksEv
    hooks.restype = ctypes.c_void_p
    return words(hooks(), 1)[0]


def guards() -> tuple[int, ...]:
    registry = ctypes.c_void_p.in_dll(library("c10"), "_ZN3c104impl26device_guard_impl_registryE")
    return words(ctypes.addressof(registry), 20)


def pointers() -> list[object]:
    descriptors = [words(id(each), type(each).__basicsize__ // WORD)[1:] for each in DESCRIPTORS]
    return [descriptors, *map(slots, TYPES), hooks_table(), guards()]


def dispatcher() -> dict[str, str]:
    names = torch._C._dispatch_get_all_op_names()
    return {name: torch._C._dispatch_dump(name) + torch._C._dispatch_dump_table(name) for name in names}


def test_everything_is_as_before(device_type: str) -> None:
    torch.ones(1, device=device_type).sum()  # the vendor's package registers kernels when it is first used
    before, table = pointers(), dispatcher()
    seam().engage(device_type)
    between = pointers()
    torch.ones(2).cuda().sum()
    seam().disengage()
    assert all(was != then for was, then in zip(before, between, strict=True))
    assert pointers() == before
    assert dispatcher() == table


@pytest.mark.long
@pytest.mark.platforms("npu", "simulated-xpu")  # it takes seconds
def test_a_hundred_times(device_type: str) -> None:
    before = pointers()
    for _ in range(100):
        seam().engage(device_type)
        seam().engage(device_type)
        assert torch.ones(1).cuda().is_cuda
        seam().disengage()
        seam().disengage()
    assert pointers() == before


def test_kernels_that_were_there_are_reached_again(device_type: str) -> None:
    library = torch.library.Library("aten", "IMPL", "CUDA")  # type: ignore[no-untyped-call]
    library.impl("eye", lambda n, **options: torch.ops.aten.eye.default(n, device="meta"))  # type: ignore[no-untyped-call]
    try:
        before = dispatcher()["aten::eye"]
        seam().engage(device_type)
        assert torch.eye(2, device="cuda").device.type == device_type
        seam().disengage()
        assert dispatcher()["aten::eye"] == before
    finally:
        library._destroy()  # type: ignore[no-untyped-call]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("hpu", "PyTorch is not linked with support for hpu devices"),
        ("nonsense", "at start of device string: nonsense"),
        ("cuda", "CUDA cannot stand for itself"),
    ],
)
def test_a_device_type_that_cannot_be_changes_nothing(name: str, message: str) -> None:
    before = pointers()
    with pytest.raises(RuntimeError, match=message):
        seam().engage(name)
    assert pointers() == before


def test_half_an_engagement_is_undone(device_type: str) -> None:
    library = torch.library.Library("_", "IMPL", "SparseCUDA")  # type: ignore[no-untyped-call]
    library.fallback(lambda op, *arguments: None, "SparseCUDA")  # type: ignore[no-untyped-call]
    before = pointers()
    try:
        with pytest.raises(
            RuntimeError, match="multiple backend fallbacks for the same dispatch key SparseCUDA"
        ):
            seam().engage(device_type)
        assert pointers() == before
        with pytest.raises((RuntimeError, AssertionError), match="CUDA"):
            torch.ones(1, device="cuda")
    finally:
        library._destroy()  # type: ignore[no-untyped-call]
    seam().engage(device_type)
    seam().disengage()


def changed() -> list[object]:
    attributes = [vars(torch.Tensor).get("cuda"), vars(torch.Tensor).get("is_cuda"), torch.cuda._lazy_init]
    return [attributes, *map(torch._C._dispatch_dump, torch._C._dispatch_get_all_op_names())]


def test_a_kernel_written_in_python_is_left_alone(device_type: str) -> None:
    seam, library = PythonSeam(), torch.library.Library("seam_small", "FRAGMENT")
    library.define("place(Tensor tensor, Device device) -> Tensor")
    library.impl("place", lambda tensor, device: tensor.to(device), "CUDA")
    kernels = torch._C._dispatch_dump("seam_small::place")
    seam.engage(device_type)
    try:
        assert torch._C._dispatch_dump("seam_small::place") == kernels
    finally:
        seam.disengage()
        library._destroy()


def test_disengage_puts_everything_back(device_type: str) -> None:
    before = changed()
    seam = PythonSeam()
    for _ in range(3):
        seam.engage(device_type)
        seam.engage(device_type)
        assert changed() != before
        seam.disengage()
        seam.disengage()
    assert changed() == before


def test_counts(device_type: str) -> None:
    seam = PythonSeam()
    seam.engage(device_type)
    try:
        torch.zeros(2, device="cuda")
        assert seam.caught() == {"aten::empty.memory_format": 1}
    finally:
        seam.disengage()
