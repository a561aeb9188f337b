"""A deactivation leaves nothing behind except what the table below lists."""

import json
import re

import pytest

from tests import origin
from tests.platforms import Platform

# not restored: patterns of the paths that differ, each with the reason
KEPT = {
    r"(re|fnmatch|inspect|encodings|linecache|typing|_ctypes|importlib_metadata) .*\[.*\]": "caches",
    r"tempfile tempdir": "likewise",
    r"sys path_importer_cache \[.*\]": "folders that were looked into",
    r"(importlib\S*|torch\.cuda|torch\.distributed) _?[a-z]\w*": "submodules that were imported meanwhile",
    r"logging .*\[.*\]": "loggers of libraries that were imported, apex's among them",
    r"torch\.\S*( .*)? \[.*flash_attn.*\]": "operators, which code may still have",
    r"torch\.library __warningregistry__": "of warnings that were not shown",
    r"torch\.jit\._builtins _builtin_table \[\d+\]": "likewise",
    r"weakref finalize _registry \[.*\]": "what is done once they are collected",
    r"torch\.ops( \w+)? (flash_attn|npu|_is_mkldnn_fp16_supported|_dir \[\d+\])": "what was looked for",
    r"torch(\.ops|\.library| _TritonLibrary) .*triton.*": "torch's own operators written in Triton",
    r"torch\.utils\.checkpoint SAC_IGNORED_OPS .* _(namespace|opname)": "likewise",
    r"torch(\.|_npu\.)npu _cached_device_count": "the vendor's own, from the first use of its device",
}
# objects of morph's that remain, and act as torch's own while nothing is active
OURS = {
    r"torch\.(cuda\._sanitizer gpu_trace|distributed\._state_dict_utils pin_memory_utils)": "taken by `from`",
}

PROGRAM = """
import importlib, json, os, sys, threading, warnings
import torch, torch._dynamo, torch.distributed, torch.profiler, torch.utils.data
from tests.activation.graph import Graph

if BACKEND == "npu":
    import torch_npu
    torch.ones(1).npu()
torch.ones(1).sum().item()

def use():
    "Do what programs do, and hold on to what they hold."
    x = torch.ones(4, 4, device="cuda", requires_grad=True)
    with torch.autocast("cuda"):
        torch.nn.Linear(4, 4).cuda()(x).sum().backward()
    torch.cuda.synchronize(), torch.cuda.memory_allocated(), torch.cuda.Stream(), torch.cuda.manual_seed(1)
    for name in ("flash_attn", "apex.optimizers", "pynvml", *LATE):
        importlib.import_module(name)
    sys.modules["pynvml"].nvmlInit()
    from torch.cuda import is_available, memory_allocated
    return torch.cuda, torch.cuda.amp, is_available

LATE = "torch.cuda._sanitizer", "torch.distributed.tensor", "torch.distributed._state_dict_utils"
OURS = "morph", "wrapt", "zipp"
SERVED = "flash_attn", "flash_attn_2_cuda", "apex", "pynvml"


def around():
    "Return the process's surroundings, and what the served packages are before morph serves them."
    lists = [*sys.meta_path, *sys.path_hooks, *threading.enumerate(), sys.meta_path, sys.path_hooks]
    return dict(os.environ), [*map(id, lists)], [id(sys.modules.get(name)) for name in SERVED]

import importlib_metadata  # which adds its finder to the list
before, surroundings = Graph(), around()

import morph
with morph.activated(BACKEND):
    held = use()

assert surroundings == around()
after = Graph(*OURS, *SERVED)
modules = [name for name in sys.modules if name.startswith("torch")]
assert all(type(sys.modules[name]).__module__ != "morph.finders.torch_cuda.modules" for name in modules)
assert torch.cuda._sanitizer is sys.modules["torch.cuda._sanitizer"]

def of_ours(thing):
    kind = type(thing)
    owner = thing.__module__ if issubclass(kind, type) or kind.__name__ == "function" else kind.__module__
    return str(owner).partition(".")[0] in ("morph", "wrapt", "_wrappers")

found = sorted(after.path(each) for each, thing in after.objects.items() if of_ours(thing))
print(json.dumps({"changes": sorted(before.changes(after)), "ours": found}))

cuda, amp, is_available = held
assert cuda.is_available() is is_available() is torch.cuda.is_available() is False
assert cuda.Stream is torch.cuda.Stream and amp.autocast is torch.cuda.amp.autocast
assert vars(cuda) is vars(torch.cuda) and dir(cuda) == dir(torch.cuda) and cuda.__all__ is torch.cuda.__all__
cuda.ours = 1
assert torch.cuda.ours == 1
del cuda.ours
assert not hasattr(torch.cuda, "ours")
with morph.activated(BACKEND):
    assert torch.cuda is cuda and cuda.is_available() and is_available() and cuda.amp is amp
"""


@pytest.mark.long_on("npu")
@pytest.mark.platforms("cpu", "npu")
def test_a_deactivation_leaves_no_trace(platform: Platform) -> None:
    done = origin.run(platform, PROGRAM.replace("BACKEND", repr(platform.name)))
    found = json.loads(done.stdout)
    assert [change for change in found["changes"] if not matches(change, KEPT)] == []
    assert [each for each in found["ours"] if not matches(each, OURS)] == []


def matches(found: str, table: dict[str, str]) -> bool:
    return any(re.fullmatch(pattern, found) for pattern in table)
