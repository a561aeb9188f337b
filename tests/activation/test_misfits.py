"""A change that does not fit the installed torch is skipped on its own and reported."""

import json
import textwrap

import pytest
import torch

from morph.base import toml
from tests import origin
from tests.platforms import EVERYWHERE, REPOSITORY, SIMULATED, Platform

SKIPPED = toml.loads((REPOSITORY / "tests/releases/skipped.toml").read_text("utf-8"))
HOOKED = (
    "torch.distributed.fsdp",
    "torch.distributed.checkpoint.optimizer",
    "torch.utils.checkpoint",
    "torch._dynamo.trace_rules",
    "torch._inductor.compile_fx",
    "torch.profiler",
)
MISFIT = """
    import json, torch
    from torch.distributed import distributed_c10d
    def split_group(parent_pg=None, split_ranks=None):
        "As in torch 2.12: it takes no backend."
    distributed_c10d.split_group = split_group
    del torch.storage._get_device_from_module
    import morph
    state = morph.activate(simulated=SIMULATED, backend=BACKEND)
    x = torch.ones(2, requires_grad=True, device="cuda")
    (x * 2).sum().backward()
    print(json.dumps({"skipped": state.skipped, "on": x.grad.device.type, "to": x.grad.tolist()}))
"""


def recorded(platform: Platform) -> list[str] | None:
    minor = ".".join(torch.__version__.split(".")[:2])
    found: list[str] | None = SKIPPED.get(minor, {}).get(platform.name)
    return found


@pytest.mark.long_on("npu", *SIMULATED)
@pytest.mark.platforms(*EVERYWHERE)
def test_what_is_skipped_is_what_is_recorded_of_the_release(platform: Platform) -> None:
    expected = recorded(platform)
    if expected is None:
        pytest.skip(f"nothing is recorded of torch {torch.__version__} on {platform.name}")
    imports = "\n".join(f"import {name}" for name in HOOKED)
    program = f"import json, morph\n{imports}\nprint(json.dumps(morph.status().skipped))"
    done = origin.run(platform, program, morph=True)
    assert sorted(json.loads(done.stdout.splitlines()[-1])) == expected


def test_nothing_is_skipped_on_the_torch_that_all_tests_run_on() -> None:
    assert SKIPPED["2.13"] == {name: [] for name in sorted(EVERYWHERE)}


@pytest.mark.platforms("cpu")
def test_free_threaded_python_is_refused_by_name(platform: Platform) -> None:
    program = "import sys; sys._is_gil_enabled = lambda: False; import morph; morph.activate()"
    done = platform.run(program, morph=False, check=False)
    line = "morph does not support free-threaded Python; set PYTHON_GIL=1, or use another"
    assert done.stderr.splitlines()[-1] == f"morph.base.errors.ActivationError: {line}"


@pytest.mark.platforms("simulated-npu")
def test_misfits_are_skipped_singly_and_reported(platform: Platform) -> None:
    text = textwrap.dedent(MISFIT).replace("SIMULATED", "True").replace("BACKEND", repr(platform.backend))
    done = origin.run(platform, text)
    found = json.loads(done.stdout.splitlines()[-1])
    assert found["on"] == platform.device_type
    assert found["to"] == [2, 2]
    misfits = {"torch.distributed.distributed_c10d:split_group", "torch.storage:_get_device_from_module"}
    assert misfits <= found["skipped"].keys() <= misfits.union(recorded(platform) or ())
    assert found["skipped"]["torch.distributed.distributed_c10d:split_group"] == (
        "LookupError: split_group takes no backend"
    )
