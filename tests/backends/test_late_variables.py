"""CUDA's environment variables count as late as CUDA reads them, on each backend and in children."""

import json
import pathlib
from collections.abc import Mapping
from typing import Any

import pytest

from morph.backends.tables import table
from morph.backends.tables.variables import Variable
from morph.backends.visibility import CUDA_VARIABLE
from tests import origin
from tests.backends import moments
from tests.platforms import Platform, describe

SIMULATED = ("simulated-npu", "simulated-mlu", "simulated-musa", "simulated-xpu", "simulated-rocm")
PLATFORMS = ("cpu", "npu", *SIMULATED)
PROGRAM = pathlib.Path(__file__).with_name("late_variables.py")
FIRST = {"start", "child's own"}
SECOND = {"later", "child"}
NONE = {"removed", "child of none"}
_runs: dict[tuple[str, bool], tuple[dict[str, dict[str, str]], str]] = {}


def samples(variable: Variable) -> list[str]:
    """Returns two values that a vendor's variable takes."""
    if variable.name.endswith("_ALLOC_CONF"):  # which a torch built for CUDA reads, whatever the device
        return ["max_split_size_mb:64", "max_split_size_mb:128"]
    taken = [value for value in variable.values if variable.split(value)[0]] or ["1", "2"]
    return [taken[0], taken[-1]]


def seen(platform: Platform, newer: bool) -> tuple[dict[str, dict[str, str]], str]:
    """Returns the vendor's variables at each moment, and what is said.

    Args:
        platform: The platform.
        newer: Whether `PYTORCH_ALLOC_CONF` is set, which excludes the older name for it.
    """
    if (platform.name, newer) not in _runs:
        rows = table.load(platform.backend).environment.values()
        given = {row.name: samples(row) for row in rows if (row.name == "PYTORCH_ALLOC_CONF") == newer}
        if not newer:
            given[CUDA_VARIABLE] = ["0", "1"]
        names = [own(platform, name) for name in given]
        argument = json.dumps([[*filter(None, names)], given])
        first = {name: values[0] for name, values in given.items()}
        done = platform.run(PROGRAM, argument, environment=first)
        _runs[platform.name, newer] = json.loads(done.stdout), done.stderr
    return _runs[platform.name, newer]


def own(platform: Platform, variable: str) -> str:
    """Returns the vendor's variable for one of CUDA's."""
    backend = table.load(platform.backend)
    if variable == CUDA_VARIABLE:
        return backend.facts.visible_devices
    row = backend.environment.get(variable)
    return row.target if row else ""


@pytest.mark.platforms(*PLATFORMS)
@pytest.mark.long_on("npu", *SIMULATED)
@pytest.mark.parametrize("variable", moments.moments())
def test_the_vendors_variable_follows_at_every_moment(platform: Platform, variable: str) -> None:
    target = own(platform, variable)
    newer = variable == "PYTORCH_ALLOC_CONF"
    row = table.load(platform.backend).environment.get(variable, Variable(CUDA_VARIABLE, target))
    shown, said = seen(platform, newer)
    first, second = ["0", "1"] if variable == CUDA_VARIABLE else samples(row)
    if row.ignored:
        assert f"{variable}={first}" in said
        assert f"{variable}={second}" in said
    elif not target or target == variable:
        assert f"{variable}=" not in said
    else:
        users = platform.environment.get(target)
        expected = {moment: users or row.split(first)[0] for moment in FIRST}
        expected |= {moment: users or row.split(second)[0] for moment in SECOND}
        expected |= dict.fromkeys(NONE, users)
        assert {moment: values.get(target) for moment, values in shown.items()} == expected


def test_the_document_lists_every_variable() -> None:
    rows = [each for name in table.backend_names() for each in table.load(name).environment.values()]
    assert {*moments.moments()} == {CUDA_VARIABLE, *(each.name for each in rows if not each.default)}
    assert moments.DOCUMENT.read_text(encoding="utf-8") == moments.document()


DEVICES = """
import ctypes, os, sys, torch

home, other = torch.device("cuda"), torch.device("cuda", 1)
assert {before}
os.environ["CUDA_VISIBLE_DEVICES"] = {mask!r}
assert {after}
"""
ASKED = [
    ("True", "True"),
    ("torch.cuda.device_count() == 2", "True"),
    ("torch.cuda.is_available()", "torch.cuda.device_count() == 1"),
]
USE = """
tensor = torch.ones(2, device=home)
assert tensor.sum().item() == 2 and tensor.get_device() == 0 and torch.cuda.device_count() == 1
try:
    torch.ones(2, device="cuda:1")
except RuntimeError:
    pass
else:
    raise AssertionError("a hidden device was used")
"""
HIDDEN = """
assert torch.cuda.device_count() == 0
try:
    torch.ones(2, device=home)
except RuntimeError:
    pass
else:
    raise AssertionError("a hidden device was used")
"""
PLACE = """
place, chip = ctypes.c_int64(-1), 402  # ACL_DEV_ATTR_PHY_CHIP_ID
ctypes.CDLL("libascendcl.so").aclrtGetDeviceInfo(0, chip, ctypes.byref(place))
assert place.value == 1
"""


@pytest.mark.platforms(*PLATFORMS)
@pytest.mark.long_on(*SIMULATED)
@pytest.mark.parametrize(("before", "after"), ASKED)
def test_one_device_is_chosen_after_the_import_of_torch(platform: Platform, before: str, after: str) -> None:
    place = PLACE if platform.name == "npu" else ""
    program = DEVICES.format(mask="1", before=before, after=after)
    origin.run(platform, program + USE + place, morph=True)


@pytest.mark.platforms(*PLATFORMS)
@pytest.mark.long_on("npu", *SIMULATED)
@pytest.mark.parametrize("mask", ["", "-1"])
def test_all_devices_are_hidden_after_the_import_of_torch(platform: Platform, mask: str) -> None:
    program = DEVICES.format(mask=mask, before=ASKED[1][0], after="not torch.cuda.is_available()")
    origin.run(platform, program + HIDDEN, morph=True)


LAUNCHER = """
import os, subprocess, sys, torch

assert torch.cuda.device_count() == 2
child = "import os, torch; print(torch.cuda.device_count(), os.environ[os.environ['OWN']])"
for number in "01":
    own = os.environ | {"CUDA_VISIBLE_DEVICES": number}
    subprocess.run([sys.executable, "-c", child], env=own, check=True)
"""


@pytest.mark.platforms(*PLATFORMS)
@pytest.mark.long_on("npu", *SIMULATED)
def test_a_launcher_gives_each_child_a_device_of_its_own(platform: Platform) -> None:
    facts = table.load(platform.backend).facts
    variables: Mapping[str, Any] = {CUDA_VARIABLE: "0,1", "OWN": facts.visible_devices or CUDA_VARIABLE}
    done = platform.run(LAUNCHER, environment=variables)
    assert done.stdout.split() == ["1", "0", "1", "1"], describe(done)
