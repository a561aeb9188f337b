"""torch.cuda looks like any other module to tools, pickle and introspection."""

import copy
import importlib
import importlib.util
import inspect
import os
import pickle
import pkgutil
import pydoc
import subprocess
import sys
import types

import torch
import torch.cuda


COUNT = "import torch; print(torch.cuda.is_available(), torch.cuda.device_count())"


def _of_child(code, **variables):
    command = [sys.executable, "-c", code]
    done = subprocess.run(
        command, capture_output=True, text=True, env={**os.environ, **variables}, check=True
    )
    return done.stdout.split()


def what_is_not_there_is_not_imported():
    try:
        importlib.import_module("torch.cuda.nothing_of_the_kind")
    except ModuleNotFoundError as error:
        assert error.name == "torch.cuda.nothing_of_the_kind"
    else:
        raise AssertionError("a module came out of nowhere")


def what_is_not_there_is_an_attribute_error():
    assert not hasattr(torch.cuda, "nothing_of_the_kind")
    assert getattr(torch.cuda, "nothing_of_the_kind", None) is None


def name_of_a_function():
    function = torch.cuda.memory_allocated
    assert (function.__name__, function.__module__) == ("memory_allocated", "torch.cuda.memory")


def class_is_a_class():
    classes = torch.cuda.Stream, torch.cuda.Event, torch.cuda.device, torch.cuda.amp.autocast, torch.autocast
    assert all(inspect.isclass(value) for value in classes)


def class_or_none_is_a_type():
    assert torch.cuda.Stream | None and torch.autocast | None
    assert torch.Generator | None and torch.device | None


def function_is_wrapped():
    import functools

    @functools.wraps(torch.cuda.synchronize)
    def synchronize(device=None):
        return torch.cuda.synchronize(device)

    assert synchronize() is None


def attribute_is_set():
    original = torch.cuda.synchronize
    torch.cuda.synchronize = lambda device=None: "patched"
    try:
        assert torch.cuda.synchronize() == "patched"
    finally:
        torch.cuda.synchronize = original
    assert torch.cuda.synchronize() is None


def attribute_is_patched():
    from unittest import mock

    with mock.patch("torch.cuda.is_available", return_value=False):
        assert not torch.cuda.is_available()
    assert torch.cuda.is_available()


def attribute_is_added():
    torch.cuda.of_our_own = 3
    try:
        from torch.cuda import of_our_own

        assert of_our_own == 3
    finally:
        del torch.cuda.of_our_own
    assert not hasattr(torch.cuda, "of_our_own")


def module_is_reloaded():
    assert importlib.reload(torch.cuda.nvtx) is torch.cuda.nvtx
    assert torch.cuda.is_available()


def modules_are_walked():
    for module in list(sys.modules.values()):
        getattr(module, "__file__", None)
    assert torch.cuda.is_available()


def annotations_are_read():
    import typing

    def step(stream: torch.cuda.Stream, device: torch.device | None = None) -> torch.cuda.Event: ...

    assert typing.get_type_hints(step)["return"] is torch.cuda.Event


EXPRESSIONS = {
    "child_process_sees_cuda": lambda: (
        _of_child(f"{COUNT}; print(torch.zeros(1).cuda().is_cuda)")[::2] == ["True", "True"]
    ),
    "child_process_sees_chosen_devices": lambda: _of_child(COUNT, CUDA_VISIBLE_DEVICES="1") == ["True", "1"],
    "child_process_sees_no_devices": lambda: _of_child(COUNT, CUDA_VISIBLE_DEVICES="") == ["False", "0"],
    "child_process_chooses_before_torch": lambda: (
        _of_child(f"import os; os.environ['CUDA_VISIBLE_DEVICES'] = '0'\n{COUNT}") == ["True", "1"]
    ),
    "module_is_a_module": lambda: (
        isinstance(torch.cuda, types.ModuleType) and inspect.ismodule(torch.cuda.amp)
    ),
    "module_has_its_name": lambda: (
        torch.cuda.__name__ == "torch.cuda" and torch.cuda.amp.__package__ == "torch.cuda.amp"
    ),
    "module_is_printed": lambda: repr(torch.cuda).startswith("<module 'torch.cuda' from"),
    "module_has_a_file": lambda: os.path.exists(torch.cuda.__file__),
    "module_has_a_doc": lambda: "CUDA" in torch.cuda.__doc__,
    "module_has_a_path": lambda: (
        "amp" in {module.name for module in pkgutil.iter_modules(torch.cuda.__path__)}
    ),
    "spec_is_found": lambda: importlib.util.find_spec("torch.cuda").name == "torch.cuda",
    "spec_of_a_submodule_is_found": lambda: (
        importlib.util.find_spec("torch.cuda.amp.autocast_mode") is not None
    ),
    "spec_of_what_is_not_there_is_not_found": lambda: (
        importlib.util.find_spec("torch.cuda.nothing_of_the_kind") is None
    ),
    "spec_is_that_of_the_module": lambda: (
        torch.cuda.__spec__.name == "torch.cuda" and torch.cuda.__spec__.origin == torch.cuda.__file__
    ),
    "names_are_listed": lambda: {"is_available", "Stream", "amp", "memory_allocated"} <= set(dir(torch.cuda)),
    "public_names_are_there": lambda: all(
        hasattr(torch.cuda, name) for name in ("Stream", "Event", "device", "synchronize")
    ),
    "names_are_exported": lambda: "current_device" in torch.cuda.__all__,
    "help_is_rendered": lambda: "is_available" in pydoc.render_doc(torch.cuda, renderer=pydoc.plaintext),
    "help_of_a_function_is_rendered": lambda: (
        "device_count() -> int" in pydoc.render_doc(torch.cuda.device_count, renderer=pydoc.plaintext)
    ),
    "source_of_the_module": lambda: "def is_available" in inspect.getsource(torch.cuda),
    "source_of_a_function": lambda: inspect.getsource(torch.cuda.synchronize).startswith("def synchronize"),
    "module_of_a_function": lambda: inspect.getmodule(torch.cuda.current_device) is torch.cuda,
    "signature_of_a_function": lambda: (
        list(inspect.signature(torch.cuda.set_device).parameters) == ["device"]
    ),
    "signature_of_a_class": lambda: "enable_timing" in str(inspect.signature(torch.cuda.Event)),
    "name_of_a_class": lambda: (
        (torch.cuda.Stream.__name__, torch.cuda.Stream.__module__) == ("Stream", "torch.cuda.streams")
    ),
    "function_is_pickled": lambda: (
        pickle.loads(pickle.dumps(torch.cuda.is_available)) is torch.cuda.is_available
    ),
    "class_is_pickled": lambda: pickle.loads(pickle.dumps(torch.cuda.Stream)) is torch.cuda.Stream,
    "class_is_copied": lambda: copy.deepcopy(torch.cuda.Event) is torch.cuda.Event,
    "function_is_asked_twice": lambda: (
        torch.cuda.is_available is torch.cuda.is_available and torch.cuda.Stream is torch.cuda.Stream
    ),
    "variables_of_the_module": lambda: (
        "is_available" in vars(torch.cuda) and callable(torch.cuda.__dict__["current_device"])
    ),
}
