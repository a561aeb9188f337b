"""Properties of a device, and those of the CPU as one."""

import copy
import uuid

import psutil
import pytest
import torch

from tests.platforms import ACCELERATORS

FIELDS = ("name", "major", "minor", "total_memory", "multi_processor_count", "warp_size", "is_integrated")
NUMBERS = FIELDS[1:]


def test_the_fields_that_programs_read_have_values() -> None:
    properties = torch.cuda.get_device_properties(0)
    assert isinstance(properties.name, str)
    assert {name: type(getattr(properties, name)) for name in NUMBERS} == dict.fromkeys(NUMBERS, int)


def test_arithmetic_on_occupancy_is_finite_and_positive() -> None:
    properties = torch.cuda.get_device_properties("cuda")
    resident = properties.multi_processor_count * properties.max_threads_per_multi_processor
    assert resident // properties.warp_size > 0
    assert properties.total_memory > 1 << 20


def test_the_device_may_be_given_in_every_way() -> None:
    ways = (0, "cuda", "cuda:0", torch.device("cuda:0"), torch.device("cuda"), None)
    assert {torch.cuda.get_device_properties(way).name for way in ways} == {torch.cuda.get_device_name()}
    assert {torch.cuda.get_device_name(device=way) for way in ways} == {torch.cuda.get_device_name()}
    assert len({torch.cuda.get_device_capability(device=way) for way in ways}) == 1


def test_a_device_that_is_not_there_is_an_error() -> None:
    beyond = torch.cuda.device_count()
    for ask in (
        torch.cuda.get_device_properties,
        torch.cuda.get_device_name,
        torch.cuda.get_device_capability,
    ):
        with pytest.raises(AssertionError, match="Invalid device id"):
            ask(beyond)


def test_the_uuid_is_one() -> None:
    assert uuid.UUID(str(torch.cuda.get_device_properties(0).uuid))


def test_the_capability_leads_to_bfloat16_and_not_beyond() -> None:
    capability = torch.cuda.get_device_capability()
    properties = torch.cuda.get_device_properties()
    assert capability == (properties.major, properties.minor)
    assert (capability >= (8, 0)) == torch.cuda.is_bf16_supported()
    assert capability < (8, 9)


@pytest.mark.platforms(*(name for name in ACCELERATORS if name != "simulated-musa"))  # whose vendor has it
def test_a_field_of_gpus_alone_is_missing_by_name() -> None:
    properties = torch.cuda.get_device_properties(0)
    assert not hasattr(properties, "clock_rate")
    with pytest.raises(
        AttributeError, match=r"get_device_properties\(\)\.clock_rate does not exist on backend '\w+'"
    ):
        _ = properties.clock_rate


@pytest.mark.platforms("npu")
def test_the_vendors_own_fields_are_there() -> None:
    properties = torch.cuda.get_device_properties(0)
    assert properties.cube_core_num == torch.npu.get_device_properties(0).cube_core_num
    assert {"cube_core_num", "major", "warp_size"} <= set(dir(properties))


def test_properties_can_be_shown_and_copied() -> None:
    properties = torch.cuda.get_device_properties(0)
    assert repr(properties).startswith("_CudaDeviceProperties(name='")
    assert copy.copy(properties).name == properties.name


@pytest.mark.platforms("cpu")
def test_a_device_of_another_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="Expected a cuda device, but got: meta"):
        torch.cuda.set_device("meta")


@pytest.mark.platforms("cpu")
def test_blocks_select_the_device() -> None:
    with torch.cuda.device(0), torch.cuda.device("cuda"), torch.cuda.device(None), torch.cuda.device(-1):
        assert torch.cuda.current_device() == 0
    with torch.cuda.device_of(torch.ones(1, device="cuda")) as selected:
        assert selected is None


@pytest.mark.platforms("cpu")
def test_properties_are_those_of_the_host() -> None:
    properties = torch.cuda.get_device_properties("cuda")
    assert 0 < properties.total_memory <= psutil.virtual_memory().total
    assert properties.multi_processor_count == psutil.cpu_count(logical=False)
    assert properties.name == torch.cuda.get_device_name() == properties.gcnArchName
    assert (properties.major, properties.minor) == torch.cuda.get_device_capability(0)
    assert repr(properties).startswith("_CudaDeviceProperties(name='CPU: ")


@pytest.mark.platforms("cpu")
def test_a_device_is_not_its_own_peer() -> None:
    assert torch.cuda.can_device_access_peer(0, 0) is False
