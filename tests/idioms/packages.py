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

from idiom import run


def module_is_a_module():
    assert isinstance(torch.cuda, types.ModuleType) and inspect.ismodule(torch.cuda.amp)


def module_has_its_name():
    assert torch.cuda.__name__ == "torch.cuda" and torch.cuda.amp.__package__ == "torch.cuda.amp"


def module_is_printed():
    assert repr(torch.cuda).startswith("<module 'torch.cuda' from")


def module_has_a_file():
    assert os.path.exists(torch.cuda.__file__)


def module_has_a_doc():
    assert "CUDA" in torch.cuda.__doc__


def module_has_a_path():
    assert "amp" in {module.name for module in pkgutil.iter_modules(torch.cuda.__path__)}


def spec_is_found():
    assert importlib.util.find_spec("torch.cuda").name == "torch.cuda"


def spec_of_a_submodule_is_found():
    assert importlib.util.find_spec("torch.cuda.amp.autocast_mode") is not None


def spec_of_what_is_not_there_is_not_found():
    assert importlib.util.find_spec("torch.cuda.nothing_of_the_kind") is None


def spec_is_that_of_the_module():
    assert torch.cuda.__spec__.name == "torch.cuda" and torch.cuda.__spec__.origin == torch.cuda.__file__


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


def names_are_listed():
    assert {"is_available", "Stream", "amp", "memory_allocated"} <= set(dir(torch.cuda))


def public_names_are_there():
    assert all(hasattr(torch.cuda, name) for name in ("Stream", "Event", "device", "synchronize"))


def names_are_exported():
    assert "current_device" in torch.cuda.__all__


def help_is_rendered():
    assert "is_available" in pydoc.render_doc(torch.cuda, renderer=pydoc.plaintext)


def help_of_a_function_is_rendered():
    assert "device_count() -> int" in pydoc.render_doc(torch.cuda.device_count, renderer=pydoc.plaintext)


def source_of_the_module():
    assert "def is_available" in inspect.getsource(torch.cuda)


def source_of_a_function():
    assert inspect.getsource(torch.cuda.synchronize).startswith("def synchronize")


def module_of_a_function():
    assert inspect.getmodule(torch.cuda.current_device) is torch.cuda


def signature_of_a_function():
    assert list(inspect.signature(torch.cuda.set_device).parameters) == ["device"]


def signature_of_a_class():
    assert "enable_timing" in str(inspect.signature(torch.cuda.Event))


def name_of_a_function():
    function = torch.cuda.memory_allocated
    assert (function.__name__, function.__module__) == ("memory_allocated", "torch.cuda.memory")


def name_of_a_class():
    assert (torch.cuda.Stream.__name__, torch.cuda.Stream.__module__) == ("Stream", "torch.cuda.streams")


def function_is_pickled():
    assert pickle.loads(pickle.dumps(torch.cuda.is_available)) is torch.cuda.is_available


def class_is_pickled():
    assert pickle.loads(pickle.dumps(torch.cuda.Stream)) is torch.cuda.Stream


def class_is_copied():
    assert copy.deepcopy(torch.cuda.Event) is torch.cuda.Event


def class_is_a_class():
    classes = torch.cuda.Stream, torch.cuda.Event, torch.cuda.device, torch.cuda.amp.autocast, torch.autocast
    assert all(inspect.isclass(value) for value in classes)


def class_or_none_is_a_type():
    assert torch.cuda.Stream | None and torch.autocast | None
    assert torch.Generator | None and torch.device | None


def function_is_asked_twice():
    assert torch.cuda.is_available is torch.cuda.is_available and torch.cuda.Stream is torch.cuda.Stream


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


def variables_of_the_module():
    assert "is_available" in vars(torch.cuda) and callable(torch.cuda.__dict__["current_device"])


def annotations_are_read():
    import typing

    def step(stream: torch.cuda.Stream, device: torch.device | None = None) -> torch.cuda.Event: ...

    assert typing.get_type_hints(step)["return"] is torch.cuda.Event


def child_process_sees_cuda():
    code = "import torch; print(torch.cuda.is_available(), torch.zeros(1).cuda().is_cuda)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["True", "True"]


def child_process_sees_chosen_devices():
    code = "import torch; print(torch.cuda.device_count())"
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": "1"}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["1"]


def child_process_sees_no_devices():
    code = "import torch; print(torch.cuda.is_available(), torch.cuda.device_count())"
    environment = {**os.environ, "CUDA_VISIBLE_DEVICES": ""}
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment)
    assert done.stdout.split() == ["False", "0"]


def child_process_chooses_before_torch():
    choice = "import os; os.environ['CUDA_VISIBLE_DEVICES'] = '0'"
    code = f"{choice}\nimport torch\nprint(torch.cuda.device_count())"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.split() == ["1"]


if __name__ == "__main__":
    run(globals())
