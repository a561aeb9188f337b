"""CUDA's environment variables are translated to the vendor's before it reads them, and restored."""

import os
import subprocess
from collections.abc import Iterator, Mapping
from unittest import mock

import pytest

from morph.backends import environment
from morph.backends.tables import table
from morph.base import announcement, variables
from morph.base.errors import TableError
from morph.base.journal import Journal

BACKEND = """[backend]
name = "specimen"
title = "Specimen"
device_type = "specimen"
dispatch_key = "PrivateUse1"
module = "torch.specimen"
collective = "sccl"
[environment]
"""
SPECIMEN = """
CUDA_LAUNCH_BLOCKING = "SPECIMEN_LAUNCH_BLOCKING"
NCCL_DEBUG = { variable = "SCCL_LOG", values = { VERSION = "", INFO = "1" } }
NCCL_ALGO = { ignored = "SCCL knows best" }
CUDA_DEVICE_MAX_CONNECTIONS = { needless = "there are no connections" }
PYTORCH_ALLOC_CONF = { variable = "PYTORCH_ALLOC_CONF", settings = ["max_split_size_mb"] }
PYTORCH_CUDA_ALLOC_CONF = { variable = "SPECIMEN_ALLOC", unless = "PYTORCH_ALLOC_CONF", \
settings = ["max_split_size_mb", "roundup_power2_divisions"] }
"""


@pytest.mark.parametrize(
    ("given", "carried", "lost"),
    [
        ({}, {}, ""),
        ({"CUDA_LAUNCH_BLOCKING": "1"}, {"SPECIMEN_LAUNCH_BLOCKING": "1"}, ""),
        ({"CUDA_LAUNCH_BLOCKING": "1", "SPECIMEN_LAUNCH_BLOCKING": "0"}, {}, ""),
        ({"CUDA_LAUNCH_BLOCKING": ""}, {}, ""),
        ({"NCCL_DEBUG": "INFO"}, {"SCCL_LOG": "1"}, ""),
        ({"NCCL_DEBUG": "VERSION"}, {}, ""),
        ({"NCCL_DEBUG": "TRACE"}, {}, "NCCL_DEBUG=TRACE has no effect on Specimen"),
        ({"NCCL_ALGO": "Ring"}, {}, "NCCL_ALGO=Ring (SCCL knows best) has no effect on Specimen"),
        (
            {"NCCL_ALGO": "Ring", "NCCL_DEBUG": "TRACE"},
            {},
            "NCCL_DEBUG=TRACE, NCCL_ALGO=Ring (SCCL knows best) have no effect on Specimen",
        ),
        ({"CUDA_DEVICE_MAX_CONNECTIONS": "1"}, {}, ""),
        (
            {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64,roundup_power2_divisions:[256:1,512:2,>:4]"},
            {"SPECIMEN_ALLOC": "max_split_size_mb:64,roundup_power2_divisions:[256:1,512:2,>:4]"},
            "",
        ),
        (
            {"PYTORCH_CUDA_ALLOC_CONF": "backend:native, max_split_size_mb:64"},
            {"SPECIMEN_ALLOC": "max_split_size_mb:64", "PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64"},
            "PYTORCH_CUDA_ALLOC_CONF=backend:native has no effect on Specimen",
        ),
        (
            {"PYTORCH_CUDA_ALLOC_CONF": "max_split_size_mb:64", "PYTORCH_ALLOC_CONF": "backend:native"},
            {"PYTORCH_ALLOC_CONF": ""},
            "PYTORCH_ALLOC_CONF=backend:native has no effect on Specimen",
        ),
    ],
)
def test_variables_are_carried_and_put_back(
    monkeypatch: pytest.MonkeyPatch, given: Mapping[str, str], carried: Mapping[str, str], lost: str
) -> None:
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    before, journal, said = dict(os.environ), Journal(), list[str]()
    environment.carry(table.parse(BACKEND + SPECIMEN, "specimen.toml"), journal, said.append)
    changed = {name: value for name, value in os.environ.items() if before.get(name) != value}
    changed.pop(variables.CARRIED, None)
    assert changed == carried
    assert said == [lost] * bool(lost)
    journal.undo()
    assert dict(os.environ) == before


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("cuda = 'X'", "specimen.toml:9: cuda: is not the name of an environment variable"),
        ("X = 1", "specimen.toml:9: X: should be the vendor's variable, { variable, values }, "),
        ("X = { values = {} }", "X: should be the vendor's variable"),
        ("X = { variable = 'Y', ignored = 'why' }", "X: should be the vendor's variable"),
        ("X = 'lower case'", "X: variable = 'lower case' is malformed"),
        ("X = { ignored = '' }", "X: ignored = '' is malformed"),
        ("X = { variable = 'Y', settings = 'a' }", "X: settings = 'a' is malformed"),
        ("X = { variable = 'Y', values = { a = 1 } }", "X: values = {'a': 1} is malformed"),
    ],
)
def test_a_malformed_variable_is_one_line(row: str, said: str) -> None:
    with pytest.raises(TableError) as caught:
        table.parse(BACKEND + row, "specimen.toml")
    assert said in str(caught.value)


@pytest.mark.parametrize("name", table.backend_names())
def test_no_two_of_a_table_fight_over_one_variable(name: str) -> None:
    backend = table.load(name)
    targets = [each.target for each in backend.environment.values() if each.target]
    shared = {target for target in targets if targets.count(target) > 1}
    assert all(target.endswith("_ALLOC_CONF") for target in shared)  # CUDA has two names for it
    assert not targets or "CUDA_LAUNCH_BLOCKING" in backend.environment


OTHER_WORDS = {
    "CUDA_LAUNCH_BLOCKING": {
        "ASCEND_LAUNCH_BLOCKING",
        "HIP_LAUNCH_BLOCKING",
        "TORCH_TPU_LAUNCH_BLOCKING",
        "UR_L0_SERIALIZE",
    },
    "CUDA_MODULE_LOADING": {"CN_MODULE_LOADING"},
    "CUBLAS_WORKSPACE_CONFIG": {"MUBLAS_WORKSPACE_CONFIG"},
    "NCCL_DEBUG": {"ASCEND_MODULE_LOG_LEVEL", "CNCL_LOG_LEVEL", "CCL_LOG_LEVEL"},
    "TORCH_ALLOW_TF32_CUBLAS_OVERRIDE": {
        "TORCH_ALLOW_TF32_CNMATMUL_OVERRIDE",
        "TORCH_ALLOW_TF32_MUBLAS_OVERRIDE",
    },
    **{
        f"TORCH_NCCL_{name}": {f"CNCL_{name}"}
        for name in ("ASYNC_ERROR_HANDLING", "BLOCKING_WAIT", "DESYNC_DEBUG")
    },
}


@pytest.mark.parametrize("name", table.backend_names())
def test_variables_are_called_what_cuda_calls_them(name: str) -> None:
    """No row passes a value to a different variable of the vendor's."""
    backend = table.load(name)
    words = ("CUDA", "NCCL", name.upper(), backend.facts.collective.upper())
    others = {
        variable: each.target
        for variable, each in backend.environment.items()
        if each.target and _without(words, variable) != _without(words, each.target)
    }
    assert {each: to for each, to in others.items() if to not in OTHER_WORDS.get(each, set())} == {}


def _without(words: tuple[str, ...], variable: str) -> list[str]:
    return [part for part in variable.split("_") if part not in words]


@pytest.mark.parametrize(("own", "carried"), [(None, "1"), ("", "1"), ("0", "0")])
def test_the_vendors_own_choice_of_devices_counts(
    monkeypatch: pytest.MonkeyPatch, own: str | None, carried: str
) -> None:
    name, journal = "ASCEND_RT_VISIBLE_DEVICES", Journal()
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    if own is None:
        monkeypatch.delenv(name, raising=False)
    else:
        monkeypatch.setenv(name, own)
    environment.carry(table.load("npu"), journal, pytest.fail)
    assert os.environ[name] == carried
    journal.undo()
    assert os.environ.get(name) == own


OWN = "ASCEND_RT_VISIBLE_DEVICES"


@pytest.fixture
def npu(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[str]]:
    """What is said while CUDA's variables set Ascend's."""
    with mock.patch.dict(os.environ):  # what a test sets is gone after it
        for name in (OWN, "CUDA_VISIBLE_DEVICES", variables.CARRIED):
            os.environ.pop(name, None)
        journal, said = Journal(), list[str]()
        monkeypatch.setattr(announcement, "report", said.append)
        environment.carry(table.load("npu"), journal, said.append)
        yield said
        journal.undo()
        assert OWN not in os.environ
        assert variables.CARRIED not in os.environ


def test_what_the_program_sets_itself_stays(npu: list[str]) -> None:
    os.environ["CUDA_VISIBLE_DEVICES"] = "0"
    os.environ[OWN] = "1"
    os.environ["CUDA_VISIBLE_DEVICES"] = "0,1"
    assert os.environ.pop(OWN) == "1"


def test_every_way_to_change_the_environment_counts(npu: list[str]) -> None:
    seen = []
    os.environ.update(CUDA_VISIBLE_DEVICES="0")
    seen.append(os.environ.get(OWN))
    os.environ.pop("CUDA_VISIBLE_DEVICES")
    seen.append(os.environ.get(OWN))
    os.environ.setdefault("CUDA_VISIBLE_DEVICES", "1")
    seen.append(os.environ.get(OWN))
    with mock.patch.dict(os.environ, {"CUDA_VISIBLE_DEVICES": "0"}):
        seen.append(os.environ.get(OWN))
    seen.append(os.environ.get(OWN))
    os.environ |= {"CUDA_VISIBLE_DEVICES": "-1"}
    assert [*seen, os.environ.get(OWN)] == ["0", None, "1", "0", "1", "-1"]
    assert subprocess.run(["printenv", OWN], capture_output=True, text=True, check=True).stdout == "-1\n"
    del os.environ["CUDA_VISIBLE_DEVICES"]
    assert npu == []


def test_what_has_no_effect_is_said_once_when_it_is_set(
    npu: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(2):
        monkeypatch.setenv("NCCL_P2P_DISABLE", "1")
        monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1,0")
    assert npu == [
        "NCCL_P2P_DISABLE=1 (HCCL has no other path between devices) has no effect on Huawei Ascend",
        "Huawei Ascend numbers its devices in the machine's order: CUDA_VISIBLE_DEVICES=0,1",
    ]
    monkeypatch.undo()


@pytest.mark.parametrize("record", ["not JSON", "[]", '{"ASCEND_RT_VISIBLE_DEVICES": 1}', ""])
def test_a_record_that_is_none_makes_the_variable_the_users(
    monkeypatch: pytest.MonkeyPatch, record: str
) -> None:
    monkeypatch.setenv(variables.CARRIED, record)
    monkeypatch.setenv(OWN, "0,1")
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "1")
    journal = Journal()
    environment.carry(table.load("npu"), journal, pytest.fail)
    assert os.environ[OWN] == "0,1"
    journal.undo()
    assert os.environ[variables.CARRIED] == record
