"""The tree's test support: the import puts its torch.testing._internal in the installed one's place."""

import importlib
import importlib.util
import os
import pathlib
import sys
import types

import torch.testing._internal
from torch.nn.attention import flex_attention

TREE = pathlib.Path(os.environ["MORPH_PYTORCH_TREE"])


def _take(name: str) -> None:
    file = INSTALLED / f"{name.replace('.', '/')}.py"
    spec = importlib.util.spec_from_file_location(f"torch.testing._internal.{name}", file)
    assert spec
    assert spec.loader
    sys.modules[spec.name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)


INSTALLED = pathlib.Path(torch.testing._internal.__path__[0])
# a release's tests are written for its own torch.testing._internal, which is no public interface
torch.testing._internal.__path__ = [str(TREE / "torch" / "testing" / "_internal")]
# 2.6's import what later releases have no more, or make process groups as they do no more
OF_THE_INSTALLED = ["common_quantized", "common_quantization"]
OF_THE_INSTALLED += ["distributed.fake_pg", "distributed.multi_threaded_pg"]
for name in OF_THE_INSTALLED:
    _take(name)
# what a file of 2.6's imports, and later releases have no more: of its tests those fail that use it
vars(flex_attention).setdefault("create_nested_block_mask", None)
GONE = "torch._custom_op.functional"
if not importlib.util.find_spec(GONE):
    sys.modules[GONE] = types.ModuleType(GONE)
    vars(sys.modules[GONE])["register_functional_op"] = None
FILE = pathlib.Path(os.environ.get("MORPH_PYTORCH_CHOSEN", "")).name  # with dots for slashes
if FILE.startswith("inductor."):
    compile_fx = importlib.import_module("torch._inductor.compile_fx")
    vars(compile_fx).setdefault("complex_memory_overlap", None)
if FILE.startswith("distributed."):
    common_distributed = importlib.import_module("torch.testing._internal.common_distributed")
    if hasattr(common_distributed, "MultiProcContinousTest"):  # later releases' start their processes
        importlib.import_module("tests.pytorch.launched")
