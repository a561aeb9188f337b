"""The names of the served pynvml, against the real nvidia-ml-py: constants, functions, structures, errors."""

import copy
import ctypes
import functools
import importlib.metadata
import importlib.util
import inspect
import pickle
import sys
from ctypes.util import find_library
from types import ModuleType
from typing import Any

import pytest

pytestmark = [pytest.mark.platforms("cpu"), pytest.mark.needs("pynvml")]

OWN = ("nvmlLib", "_nvmlLib_refcount", "_extractNVMLErrorsAsClasses")
"""Names with which the real module holds the library and creates its classes."""


def real() -> ModuleType:
    """Return nvidia-ml-py's own module, which morph hides, under another name."""
    from morph.finders.finder import find_elsewhere
    from morph.finders.packages.finder import packages

    if "real_pynvml" not in sys.modules:
        found = find_elsewhere(packages, "pynvml", None, None)
        assert found is not None
        spec = importlib.util.spec_from_file_location("real_pynvml", found.origin)
        assert spec is not None
        assert spec.loader is not None
        sys.modules["real_pynvml"] = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(sys.modules["real_pynvml"])
    return sys.modules["real_pynvml"]


def own_names() -> list[str]:
    """Return nvidia-ml-py's own names, without its imports."""
    imported = (*vars(ctypes).items(), ("find_library", find_library), ("wraps", functools.wraps))
    others = {(name, id(value)) for name, value in imported}
    own = {name: value for name, value in vars(real()).items() if (name, id(value)) not in others}
    return [n for n, v in own.items() if n not in OWN and n[:2] != "__" and not isinstance(v, ModuleType)]


def test_constants_have_their_values() -> None:
    import pynvml

    values = {n: v for n, v in vars(real()).items() if isinstance(v, (int, str, tuple)) and n in own_names()}
    differing = {name for name, value in values.items() if getattr(pynvml, name) != value}
    assert not differing
    assert pynvml.NVML_VALUE_NOT_AVAILABLE_ulonglong.value == 2**64 - 1


def test_functions_have_their_signatures() -> None:
    import pynvml

    functions = {n: v for n, v in vars(real()).items() if inspect.isfunction(v) and n in own_names()}
    assert len(functions) > 430
    for name, function in functions.items():
        served = getattr(pynvml, name)
        if name.startswith("nvml"):
            assert inspect.isfunction(served), name
        theirs = [shape(p) for p in inspect.signature(function).parameters.values()]
        assert [shape(p) for p in inspect.signature(served).parameters.values()] == theirs, name
        assert served.__doc__, name
        assert served.__module__ == "pynvml", name


def shape(parameter: inspect.Parameter) -> tuple[Any, ...]:
    """Return the parts of a parameter that must agree; defaults that are structures must agree in type."""
    default = parameter.default
    plain = (
        default
        if isinstance(default, (int, str, type(None)))
        else getattr(default, "__name__", type(default).__name__)
    )
    return parameter.name, parameter.kind, plain


def test_structures_have_their_fields_and_sizes() -> None:
    import pynvml

    bases = (ctypes.Structure, ctypes.Union)
    names = set(own_names())
    kinds = {
        n: v for n, v in vars(real()).items() if n in names and isinstance(v, type) and issubclass(v, bases)
    }
    assert len(kinds) > 200
    for name, kind in kinds.items():
        served = getattr(pynvml, name)
        assert ctypes.sizeof(served) == ctypes.sizeof(kind), name
        assert [f[0] for f in getattr(served, "_fields_", [])] == [
            f[0] for f in getattr(kind, "_fields_", [])
        ], name
        assert getattr(served, "_fmt_", {}) == getattr(kind, "_fmt_", {}), name
        for field, *_ in getattr(kind, "_fields_", []):
            assert repr(getattr(served, field))[:40] == repr(getattr(kind, field))[:40], (name, field)


def test_structures_start_and_print_as_theirs() -> None:
    import pynvml

    theirs = real()
    for name in (
        "c_nvmlUUID_t",
        "c_nvmlPRMTLV_v1_t",
        "c_nvmlGpuFabricInfo_v3_t",
        "c_nvmlPRMCounterInput_v1_t",
    ):
        assert bytes(getattr(pynvml, name)()) == bytes(getattr(theirs, name)()), name
    assert bytes(pynvml.c_nvmlPRMTLV_v1_t(size=5)) == bytes(theirs.c_nvmlPRMTLV_v1_t(size=5))
    with pytest.raises(TypeError):
        pynvml.c_nvmlUUID_t(1)
    for module in (pynvml, theirs):
        info = module.nvmlPciInfo_t(busId="0000:C1:00.0", domain=0, bus=0xC1)
        assert info.busId == "0000:C1:00.0"
        assert str(info).startswith(
            "nvmlPciInfo_t(busIdLegacy: , domain: 0x00000000, bus: 0xC1, device: 0x00,"
        )
        friendly = module.nvmlStructToFriendlyObject(info)
        assert friendly.busId == "0000:C1:00.0"
        assert "'bus': 193" in str(friendly)
        unit = module.nvmlFriendlyObjectToStruct(
            module.nvmlFriendlyObject({"name": "a", "id": "b", "serial": "c", "firmwareVersion": "d"}),
            module.c_nvmlUnitInfo_t(),
        )
        assert unit.firmwareVersion == "d"


def test_errors_are_classes_by_code_with_nvidias_texts() -> None:
    import pynvml

    theirs = real()
    for code, kind in theirs.NVMLError._valClassMapping.items():
        error = pynvml.NVMLError(code)
        own = getattr(pynvml, kind.__name__)
        assert type(error) is own is pynvml.nvmlExceptionClass(code)
        assert (type(error).__module__, error.value) == ("pynvml", code)
        if code in theirs.NVMLError._errcode_to_string:
            assert str(error) == str(theirs.NVMLError(code))
            assert repr(error) == repr(theirs.NVMLError(code))
        for same in (pickle.loads(pickle.dumps(error)), copy.copy(error), own()):
            assert (type(same), same.value, same) == (type(error), code, error)
    assert str(pynvml.NVMLError(4242)) == "NVML Error with code 4242"
    assert type(pynvml.NVMLError(4242)) is pynvml.NVMLError
    with pytest.raises(ValueError, match="nvmlErrorCode 4242 is not valid"):
        pynvml.nvmlExceptionClass(4242)
    assert pynvml._nvmlCheckReturn(0) == 0
    with pytest.raises(pynvml.NVMLError_Timeout):
        pynvml._nvmlCheckReturn(pynvml.NVML_ERROR_TIMEOUT)


def test_every_name_has_a_status_and_each_status_holds() -> None:
    import pynvml

    from morph.backends.tables.package import load
    from morph.backends.tables.rows import Status

    package = load("pynvml")
    rows = {name: package.row(f"pynvml.{name}") for name in own_names()}
    unclassified = [name for name, row in rows.items() if row is None]
    own = [name for name in package.rows if name[-1] != "*" and name != "pynvml"]
    stale = [name for name in own if not hasattr(pynvml, name.removeprefix("pynvml."))]
    assert (unclassified, stale) == ([], [])
    recorded = {name.removeprefix("pynvml.") for name in package.names if ".smi" not in name}
    assert recorded - {"pynvml"} == set(own_names())
    assert len(own_names()) > 2300
    for name, row in rows.items():
        assert row is not None
        refuses = "its note says why" in (getattr(getattr(pynvml, name), "__doc__", "") or "")
        assert refuses == (row.status is Status.MISSING or row.note.startswith("not supported")), name


def test_it_is_a_whole_package() -> None:
    import importlib_metadata
    import pynvml

    assert pynvml.__file__.endswith("aliases/packages/pynvml/__init__.py")
    for library in (importlib.metadata, importlib_metadata):
        assert library.version("nvidia-ml-py") == library.version("nvidia_ml_py") == "13.615.71"
        assert "nvidia-ml-py" in library.packages_distributions()["pynvml"]
    assert importlib.util.find_spec("pynvml") is pynvml.__spec__
    with pytest.raises(AttributeError, match="it belongs to NVIDIA's GPUs"):
        pynvml.nvmlDeviceGetSomethingOfTheFuture  # noqa: B018
    with pytest.raises(AttributeError, match="has no attribute 'absent'"):
        pynvml.absent  # noqa: B018


@pytest.mark.platforms("npu")
def test_torch_sees_none_of_it() -> None:
    import torch

    own: Any = torch.cuda
    own = getattr(own, "__wrapped__", own)
    assert "aliases" not in getattr(vars(own).get("pynvml"), "__file__", "")
