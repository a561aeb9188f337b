"""Translation of CUDA device names, and the table of parameters that take them."""

import importlib
import inspect
import operator

import pytest
import torch
import wrapt

from morph.backends import active
from morph.base.journal import Journal
from morph.device import parameters
from morph.device.words import Words
from morph.finders.scope import Scope
from morph.finders.torch_cuda.views import Views
from tests.platforms import ACCELERATORS


def words() -> Words:
    backend = active()
    assert backend is not None
    return Words(backend, Views((), Scope()))


def own() -> str:
    return words().backend.device_type


def test_device_types() -> None:
    assert words().device_type("cuda") == own()
    for other in ("cpu", "meta", "cuda:0", "CUDA", "/data_cuda/m.pt", None, 0):
        assert words().device_type(other) is other


def test_devices_as_text() -> None:
    assert words().device("cuda") == own()
    assert words().device("cuda:1") == f"{own()}:1"
    for other in ("cpu", "cuda:x", "mycuda:0", "cuda:0/model.pt", 1):
        assert words().device(other) is other


def test_dispatch_keys() -> None:
    key = torch._C._dispatch_key_for_device(own())
    assert words().dispatch_key("CUDA") == key
    assert words().dispatch_key("AutogradCUDA") == f"Autograd{key}"
    assert words().dispatch_key("Meta") == "Meta"


def test_collectives() -> None:
    collective = words().backend.collective
    assert words().collective("nccl") == words().collective("NCCL") == collective
    assert words().collective("mpi") == "mpi"
    assert words().collective("cpu:gloo,cuda:nccl") == f"cpu:gloo,{own()}:{collective}"
    assert words().collective("cuda:nccl") == f"{own()}:{collective}"


@pytest.mark.platforms(*ACCELERATORS)
def test_cudas_words_are_shown() -> None:
    collective = words().backend.collective
    assert words().shown(own()) == "cuda"
    assert words().shown(f"{own()}:1") == "cuda:1"
    assert words().shown(f"cpu:gloo,{own()}:{collective}") == "cpu:gloo,cuda:nccl"
    for other in ("cpu", "gloo", f"my{own()}", f"/data_{own()}/m.pt", None, 0):
        assert words().shown(other) is other


def test_tensor_types() -> None:
    assert words().tensor_dtype("torch.cuda.HalfTensor") is torch.float16
    assert words().tensor_dtype("torch.cuda.Stream") is None
    assert words().tensor_dtype("torch.HalfTensor") is None


def test_every_row_names_parameters_and_kinds_that_exist() -> None:
    for name, kinds in parameters.table().items():
        module, _, qualified = name.partition(":")
        function = operator.attrgetter(qualified)(importlib.import_module(module))
        assert set(kinds) <= set(inspect.signature(function).parameters), name
        assert all(callable(getattr(Words, kind)) for kind in kinds.values()), name


@pytest.mark.platforms(*ACCELERATORS)
def test_every_function_of_the_table_translates() -> None:
    for name in parameters.table():
        module, _, qualified = name.partition(":")
        path, _, attribute = qualified.rpartition(".")
        owner = importlib.import_module(module)
        owner = operator.attrgetter(path)(owner) if path else owner
        assert isinstance(inspect.getattr_static(owner, attribute), wrapt.FunctionWrapper), name


def example(first: int, device: str = "cuda", *, device_type: str = "cpu") -> tuple[int, str, str]:
    return first, device, device_type


def test_arguments_are_found_by_name_by_position_and_by_default() -> None:
    translators = {"device": lambda value: value.replace("cuda", "x"), "device_type": str.upper}
    translate = wrapt.FunctionWrapper(example, parameters.translating(example, translators))
    assert translate(1) == (1, "x", "CPU")
    assert translate(1, "cuda:2", device_type="meta") == (1, "x:2", "META")
    assert translate(device="cuda:3", first=1) == (1, "x:3", "CPU")


def test_a_row_for_a_parameter_that_is_gone_is_an_error() -> None:
    with pytest.raises(LookupError, match="example takes no other"):
        parameters.bind(example, {"other": str})


def test_undoing_restores_the_function_under_every_name() -> None:
    backend, journal = active(), Journal()
    assert backend is not None
    words, served = Words(backend, Views((), Scope())), torch.distributed.init_process_group
    name = "torch.distributed.distributed_c10d:init_process_group"
    parameters.wrap(name, lambda f: parameters.translating(f, {}), words, journal)
    kept = torch.distributed.init_process_group
    assert kept is torch.distributed.distributed_c10d.init_process_group is not served
    journal.undo()
    assert torch.distributed.init_process_group is served
    assert torch.distributed.distributed_c10d.init_process_group is served


def test_classes_stay_classes() -> None:
    for kind in (torch.autocast, torch.amp.GradScaler, torch.profiler.profile, torch.library.Library):
        assert isinstance(kind, type)
    assert list(inspect.signature(torch.autocast).parameters)[0] == "device_type"
