"""The table of parameters that take CUDA names, checked against the installed torch."""

from __future__ import annotations

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
