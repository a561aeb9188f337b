"""An installed torch_npu is not there beside the software device, as on a machine without it."""

import importlib.metadata
import importlib.util

import pytest
import torch  # begins the activation


def test_a_vendors_package_is_not_found() -> None:
    assert torch.cuda.is_available()
    assert importlib.metadata.version("torch_npu")
    assert importlib.util.find_spec("torch_npu") is None
    with pytest.raises(ModuleNotFoundError, match="beside the software device.*use --backend npu") as raised:
        import torch_npu  # noqa: F401
    assert raised.value.name == "torch_npu"


def test_other_modules_are_found() -> None:
    assert importlib.util.find_spec("json") is not None
    assert importlib.util.find_spec("torch_that_nobody_wrote") is None
    with pytest.raises(ModuleNotFoundError, match="^No module named 'torch_that_nobody_wrote'$"):
        importlib.import_module("torch_that_nobody_wrote")


def test_libraries_that_ask_for_every_vendor_choose_cuda() -> None:
    for name in ("accelerate", "deepspeed", "transformers"):
        pytest.importorskip(name)
    from accelerate.utils import imports
    from deepspeed.accelerator import real_accelerator
    from transformers.utils import import_utils

    assert real_accelerator.get_accelerator()._name == "cuda"
    assert not imports.is_npu_available()
    assert not import_utils.is_torch_npu_available()
