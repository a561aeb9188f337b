"""The readings of the served pynvml, checked against their sources: psutil, torch_npu, torch.xpu."""

import os
import platform
import textwrap
from types import SimpleNamespace
from unittest import mock

import psutil
import pytest
import torch

from tests.platforms import Platform
from tests.pynvml.opening import not_supported, opened

pytestmark = pytest.mark.platforms("cpu", "npu", "simulated-musa", "simulated-xpu")


def test_opening_is_counted() -> None:
    import pynvml

    for call in (pynvml.nvmlDeviceGetCount, pynvml.nvmlShutdown, lambda: pynvml.nvmlDeviceGetName(None)):
        with pytest.raises(pynvml.NVMLError_Uninitialized, match="Uninitialized"):
            call()
    pynvml.nvmlInit()
    pynvml.nvmlInitWithFlags(pynvml.NVML_INIT_FLAG_NO_GPUS)
    pynvml.nvmlShutdown()
    assert pynvml.nvmlDeviceGetCount() == torch.cuda.device_count()
    pynvml.nvmlShutdown()
    with pytest.raises(pynvml.NVMLError_Uninitialized):
        pynvml.nvmlShutdown()


def test_devices_are_those_of_torch() -> None:
    with opened() as N:
        assert N.nvmlDeviceGetCount() == torch.cuda.device_count()
        for index in range(torch.cuda.device_count()):
            handle = N.nvmlDeviceGetHandleByIndex(index)
            assert isinstance(handle, N.c_nvmlDevice_t)
            assert N.nvmlDeviceGetIndex(handle) == index
            assert N.nvmlDeviceGetName(handle) == torch.cuda.get_device_name(index)
            assert N.nvmlDeviceGetCudaComputeCapability(handle) == torch.cuda.get_device_capability(index)
            memory = N.nvmlDeviceGetMemoryInfo(handle)
            assert memory.total == torch.cuda.mem_get_info(index)[1] == memory.used + memory.free
            second = N.nvmlDeviceGetMemoryInfo(handle, version=N.nvmlMemory_v2)
            assert (second.version, second.total, second.reserved) == (N.nvmlMemory_v2, memory.total, 0)
            assert N.nvmlDeviceIsMigDeviceHandle(handle) == N.nvmlDeviceGetMaxMigDeviceCount(handle) == 0
            assert N.nvmlDeviceGetBrand(handle) == N.NVML_BRAND_UNKNOWN
            assert N.nvmlDeviceGetP2PStatus(handle, handle, N.NVML_P2P_CAPS_INDEX_NVLINK) == 5
        with pytest.raises(N.NVMLError_InvalidArgument):
            N.nvmlDeviceGetHandleByIndex(torch.cuda.device_count())
        for wrong in (None, 0, N.c_nvmlDevice_t(), N.c_nvmlUnit_t()):
            with pytest.raises(N.NVMLError_InvalidArgument, match="Invalid Argument"):
                N.nvmlDeviceGetName(wrong)
        with pytest.raises(TypeError):
            N.nvmlDeviceGetName()
        assert N.nvmlDeviceGetName(handle=handle) == N.nvmlDeviceGetName(handle)
        assert 0 <= N.nvmlSystemGetProcessName(os.getpid()).find("python")
        with pytest.raises(N.NVMLError_NotFound):
            N.nvmlSystemGetProcessName(2**30)


def test_used_memory_is_what_is_in_use() -> None:
    from morph.aliases.sensors.reading import Memory

    with opened() as N:
        device = SimpleNamespace(memory=lambda: Memory(total=100, used=30))
        read = N.nvmlDeviceGetMemoryInfo.__wrapped__
        for memory in (read(device), read(device, N.nvmlMemory_v2)):
            assert (memory.total, memory.used, memory.free) == (100, 30, 70)


@pytest.mark.platforms("cpu")
def test_clocks_are_in_megahertz() -> None:
    frequency = SimpleNamespace(current=2345.6, min=800.0, max=4000.4)
    with mock.patch.object(psutil, "cpu_freq", return_value=frequency), opened() as N:
        handle = N.nvmlDeviceGetHandleByIndex(0)
        assert N.nvmlDeviceGetClockInfo(handle, N.NVML_CLOCK_SM) == 2346
        assert N.nvmlDeviceGetMaxClockInfo(handle, N.NVML_CLOCK_SM) == 4000


def test_what_nobody_can_tell_is_refused_with_the_reason() -> None:
    with opened() as N:
        handle = N.nvmlDeviceGetHandleByIndex(0)
        assert "division into instances: " in not_supported(N.nvmlDeviceGetMigMode, handle)
        assert "NVLink: " in not_supported(N.nvmlDeviceGetNvLinkState, handle, 0)
        assert "morph changes no setting" in not_supported(N.nvmlDeviceSetPowerManagementLimit, handle, 1)
        assert "fan" in not_supported(N.nvmlDeviceGetFanSpeed, handle)
        assert "memory clock" in not_supported(N.nvmlDeviceGetClockInfo, handle, N.NVML_CLOCK_MEM)
        with pytest.raises(TypeError):
            N.nvmlDeviceSetPowerManagementLimit(handle)
        with pytest.raises(N.NVMLError_InvalidArgument):
            N.nvmlDeviceGetMigMode(None)
        with pytest.raises(N.NVMLError_InvalidArgument):
            N.nvmlDeviceGetTemperature(handle, 7)
        with pytest.raises(N.NVMLError_InvalidArgument):
            N.nvmlDeviceGetClockInfo(handle, 99)
        with pytest.raises(N.NVMLError_InvalidArgument):
            N.nvmlDeviceGetPcieThroughput(handle, 7)
        assert "traffic" in not_supported(N.nvmlDeviceGetPcieThroughput, handle, N.NVML_PCIE_UTIL_TX_BYTES)
        assert "performance state" in not_supported(N.nvmlDeviceGetPerformanceState, handle)
        values = N.nvmlDeviceGetFieldValues(
            handle, [N.NVML_FI_DEV_TOTAL_ENERGY_CONSUMPTION, (N.NVML_FI_DEV_ECC_CURRENT, 1), 10**6]
        )
        assert {value.nvmlReturn for value in values} == {N.NVML_ERROR_NOT_SUPPORTED}
        assert [value.scopeId for value in values] == [0, 1, 0]


@pytest.mark.needs("accelerate")
@pytest.mark.platforms("cpu")
def test_the_cpu_is_measured_by_psutil() -> None:
    from accelerate.utils.environment import override_numa_affinity

    with opened() as N:
        handle = N.nvmlDeviceGetHandleByIndex(0)
        assert N.nvmlDeviceGetName(handle).startswith("CPU: ")
        uuid = N.nvmlDeviceGetUUID(handle)
        assert uuid == f"GPU-{torch.cuda.get_device_properties(0).uuid}"
        for spelling in (uuid, uuid.encode(), uuid.removeprefix("GPU-")):
            assert N.nvmlDeviceGetIndex(N.nvmlDeviceGetHandleByUUID(spelling)) == 0
        with pytest.raises(N.NVMLError_NotFound):
            N.nvmlDeviceGetHandleByUUID("GPU-of another")
        assert (
            N.nvmlDeviceGetIndex(N.nvmlDeviceGetHandleByPciBusId(N.nvmlDeviceGetPciInfo(handle).busId)) == 0
        )
        with pytest.raises(N.NVMLError_NotFound):
            N.nvmlDeviceGetHandleByPciBusId("0000:41:00.0")
        with pytest.raises(N.NVMLError_InvalidArgument):
            N.nvmlDeviceGetHandleByPciBusId("here")
        assert 0 <= N.nvmlDeviceGetUtilizationRates(handle).gpu <= 100
        kept = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
        own = {p.pid: p.usedGpuMemory for p in N.nvmlDeviceGetComputeRunningProcesses(handle)}
        assert own[os.getpid()] == torch.cuda.memory_reserved() >= kept.nbytes
        assert "memory clock" in not_supported(N.nvmlDeviceGetClockInfo, handle, N.NVML_CLOCK_MEM)
        assert N.nvmlDeviceGetNumaNodeId(handle) == -1
        assert list(N.nvmlDeviceGetCpuAffinity(handle, 2))[0] & 1
        assert N.nvmlSystemGetCudaDriverVersion() == 13000
        assert "a CPU has none" in not_supported(N.nvmlDeviceGetSerial, handle)
        assert N.nvmlSystemGetDriverVersion() == platform.release()
        assert N.nvmlDeviceGetComputeMode(handle) == N.NVML_COMPUTEMODE_DEFAULT
        N.nvmlDeviceGetProcessUtilization(handle, 0)
        torch.ones(1 << 22, device="cuda").cumsum(0)
        shares = {sample.pid: sample.smUtil for sample in N.nvmlDeviceGetProcessUtilization(handle, 0)}
        assert 0 < shares[os.getpid()] <= 100
        assert N.nvmlSystemGetProcessName(1)
        assert N.nvmlDeviceGetGraphicsRunningProcesses(handle) == []
        before = os.sched_getaffinity(0)
        N.nvmlDeviceSetCpuAffinity(handle)
        N.nvmlDeviceClearCpuAffinity(handle)
        override_numa_affinity(0)
        N.nvmlShutdown()  # accelerate leaves this to the end of the process
        assert os.sched_getaffinity(0) == set(range(os.cpu_count() or 1))
        os.sched_setaffinity(0, before)


@pytest.mark.platforms("cpu")
def test_torch_cuda_reads_its_sensors_from_it(platform: Platform) -> None:
    # torch leaves the library open
    platform.run("import tests.pynvml.test_readings as own; own.check_torch_cudas_sensors()")


def check_torch_cudas_sensors() -> None:
    kept = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    assert torch.cuda.device_memory_used() >= torch.cuda.memory_reserved() >= kept.nbytes
    assert 0 <= torch.cuda.utilization() <= 100
    first, *lines = torch.cuda.list_gpu_processes().splitlines()
    own = f"process {os.getpid():>10d} uses {torch.cuda.memory_reserved() / 2**20:>12.3f} MB GPU memory"
    assert first == "GPU:0"
    assert own in lines
    assert "how busy its memory" in not_supported(torch.cuda.memory_usage)
    power = _power()
    assert power is None or power >= 0
    with pytest.raises(AssertionError, match="Invalid device id"):
        torch.cuda.memory_usage(7)


def _power() -> int | None:
    import pynvml

    try:
        return torch.cuda.power_draw()
    except pynvml.NVMLError_NotSupported:  # only some machines report it
        return None


@pytest.mark.platforms("cpu")
def test_hidden_devices_are_counted_and_torch_has_its_own(platform: Platform) -> None:
    program = """
import os, pynvml, torch
properties = [torch.cuda.get_device_properties(index) for index in (0, 1)]
assert torch.cuda.device_count() == 2
assert [each.pci_bus_id for each in properties] == [2, 0]
pynvml.nvmlInit()
handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(pynvml.nvmlDeviceGetCount())]
told = [pynvml.nvmlDeviceGetUUID(handle) for handle in handles]
assert [f"GPU-{each.uuid}" for each in properties] == [told[2], told[0]]
kept = torch.empty(64 << 20, dtype=torch.uint8, device="cuda:0")
assert pynvml.nvmlDeviceGetMemoryInfo(handles[2]).used >= kept.nbytes == torch.cuda.device_memory_used(0)
processes = [pynvml.nvmlDeviceGetComputeRunningProcesses(handle) for handle in handles]  # other programs' too
assert [os.getpid() in [each.pid for each in found] for found in processes] == [False, False, True]
try:
    torch.cuda.power_draw()
except pynvml.NVMLError_NotSupported as error:
    assert error.__notes__ == ["morph: power: the devices share one processor"]
print(told[1])
"""
    shown = {"MORPH_DEVICES": "3", "CUDA_VISIBLE_DEVICES": "2,0"}
    hidden = platform.run(program, environment=shown).stdout.strip()
    program = (
        "import torch; print(f'GPU-{torch.cuda.get_device_properties(0).uuid}', torch.cuda.device_count())"
    )
    shown["CUDA_VISIBLE_DEVICES"] = hidden
    assert platform.run(program, environment=shown).stdout.split() == [hidden, "1"]


@pytest.mark.platforms("npu")
def test_without_a_tool_torch_npu_is_asked_and_the_tool_is_named() -> None:
    with opened() as N:
        handle = N.nvmlDeviceGetHandleByIndex(1)
        kept = torch.empty(64 << 20, dtype=torch.uint8, device="cuda:1")
        assert N.nvmlDeviceGetMemoryInfo(handle).used >= kept.nbytes
        assert 0 <= N.nvmlDeviceGetUtilizationRates(handle).gpu <= 100
        for call, *arguments in (
            (N.nvmlDeviceGetTemperature, N.NVML_TEMPERATURE_GPU),
            (N.nvmlDeviceGetClockInfo, N.NVML_CLOCK_SM),
            (N.nvmlDeviceGetComputeRunningProcesses,),
            (N.nvmlDeviceGetGraphicsRunningProcesses,),
        ):
            assert "npu-smi is not found; it comes with Ascend's driver" in not_supported(
                call, handle, *arguments
            )
        other = N.nvmlDeviceGetHandleByIndex(0)
        assert N.nvmlSystemGetDriverVersion() == "25.5.0"
        assert N.nvmlSystemGetCudaDriverVersion() == 8050
        reachable = torch.cuda.can_device_access_peer(0, 1)
        assert (N.nvmlDeviceGetP2PStatus(other, handle, 0) == N.NVML_P2P_STATUS_OK) == reachable


@pytest.mark.platforms("simulated-xpu")
def test_intels_units_are_turned_into_nvmls() -> None:
    with opened() as N:
        handle = N.nvmlDeviceGetHandleByIndex(0)
        assert N.nvmlDeviceGetPowerUsage(handle) == round(torch.xpu.power_draw(0) * 1000)
        assert N.nvmlDeviceGetTemperature(handle, N.NVML_TEMPERATURE_GPU) == round(torch.xpu.temperature(0))
        assert N.nvmlDeviceGetClockInfo(handle, N.NVML_CLOCK_GRAPHICS) == round(torch.xpu.clock_rate(0))
        assert N.nvmlDeviceGetUtilizationRates(handle).memory == round(torch.xpu.memory_usage(0))
        (value,) = N.nvmlDeviceGetFieldValues(handle, [N.NVML_FI_DEV_POWER_INSTANT])
        assert (value.nvmlReturn, value.value.ullVal) == (0, N.nvmlDeviceGetPowerUsage(handle))


@pytest.mark.platforms("cpu")
def test_a_backend_without_a_source_of_its_own_is_read_through_torch() -> None:
    from morph.aliases.sensors import _source
    from morph.aliases.sensors.reading import UnknownReadingError

    source = _source("madeup")
    device, *_ = source.devices()
    assert device.memory().total == torch.cuda.mem_get_info()[1]
    with pytest.raises(UnknownReadingError, match="morph has no source of readings for backend 'madeup'"):
        device.temperature()


@pytest.mark.platforms("npu", "simulated-mlu")
def test_a_device_without_a_known_place_has_an_address_that_no_bus_has(platform: Platform) -> None:
    code = """
        import pynvml
        pynvml.nvmlInit()
        handles = [pynvml.nvmlDeviceGetHandleByIndex(index) for index in range(2)]
        places = [pynvml.nvmlDeviceGetPciInfo(handle).busId for handle in handles]
        found = [pynvml.nvmlDeviceGetHandleByPciBusId(each) for each in places]
        print(places, [pynvml.nvmlDeviceGetIndex(each) for each in found])
        """
    done = platform.run(textwrap.dedent(code))
    assert done.stdout == "['0000FFFF:00:00.0', '0000FFFF:01:00.0'] [0, 1]\n"
