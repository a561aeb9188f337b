"""Pointers to functions of the served library, which programs that know NVML's ABI ask for."""

import ctypes
import os
from types import SimpleNamespace
from unittest import mock

import psutil
import pytest
import torch

from tests.pynvml.opening import opened

pytestmark = pytest.mark.platforms("cpu", "npu", "simulated-musa", "simulated-xpu")


def test_pointers_to_functions_fill_the_callers_buffers() -> None:
    with opened() as N:
        handle = N.nvmlDeviceGetHandleByIndex(0)
        number, text = ctypes.c_uint(9), ctypes.create_string_buffer(96)
        assert N._nvmlGetFunctionPointer("nvmlDeviceGetIndex")(handle, ctypes.byref(number)) == N.NVML_SUCCESS
        assert number.value == 0
        assert (
            N._nvmlGetFunctionPointer("nvmlDeviceGetName")(handle, text, ctypes.c_uint(96)) == N.NVML_SUCCESS
        )
        assert text.value.decode() == N.nvmlDeviceGetName(handle)
        for name, kind in (
            ("nvmlDeviceGetMemoryInfo", N.c_nvmlMemory_t),
            ("nvmlDeviceGetMemoryInfo_v2", N.c_nvmlMemory_v2_t),
        ):
            memory = kind()
            if name.endswith("_v2"):
                memory.version = N.nvmlMemory_v2
            assert N._nvmlGetFunctionPointer(name)(handle, ctypes.byref(memory)) == N.NVML_SUCCESS
            assert memory.total == N.nvmlDeviceGetMemoryInfo(handle).total
        fan = N._nvmlGetFunctionPointer("nvmlDeviceGetFanSpeed")(handle, ctypes.byref(number))
        assert fan == N.NVML_ERROR_NOT_SUPPORTED
        assert N._nvmlGetFunctionPointer("nvmlDeviceGetName")(None, text, 96) == N.NVML_ERROR_INVALID_ARGUMENT
        with pytest.raises(N.NVMLError_FunctionNotFound):
            N._nvmlGetFunctionPointer("nvmlDeviceGetNothing")
    with pytest.raises(N.NVMLError_Uninitialized):
        N._nvmlGetFunctionPointer("nvmlDeviceGetName")


def test_a_pointer_leads_to_the_library_though_a_program_replaces_the_function() -> None:
    """gpustat replaces it with one of fewer parameters, and nvitop asks through the pointer."""
    with opened() as N:
        handle, memory = N.nvmlDeviceGetHandleByIndex(0), N.c_nvmlMemory_v2_t()
        total = N.nvmlDeviceGetMemoryInfo(handle).total
        memory.version = N.nvmlMemory_v2
        with mock.patch.object(N, "nvmlDeviceGetMemoryInfo", side_effect=AssertionError):
            ask = N._nvmlGetFunctionPointer("nvmlDeviceGetMemoryInfo_v2")
            assert (ask(handle, ctypes.byref(memory)), memory.total) == (N.NVML_SUCCESS, total)


@pytest.mark.platforms("cpu")
def test_a_pointer_to_the_temperature_reads_which_in_its_structure() -> None:
    """nvitop asks this way."""
    sensors = {"coretemp": [SimpleNamespace(current=47.0)]}
    with opened() as N, mock.patch.object(psutil, "sensors_temperatures", return_value=sensors, create=True):
        handle, asked = N.nvmlDeviceGetHandleByIndex(0), N.c_nvmlTemperature_v1_t()
        asked.version, asked.sensorType = N.nvmlTemperature_v1, N.NVML_TEMPERATURE_GPU
        ask = N._nvmlGetFunctionPointer("nvmlDeviceGetTemperatureV")
        assert (ask(handle, ctypes.byref(asked)), asked.temperature) == (N.NVML_SUCCESS, 47)
        asked.sensorType = 7
        assert ask(handle, ctypes.byref(asked)) == N.NVML_ERROR_INVALID_ARGUMENT


@pytest.mark.platforms("cpu")
def test_a_pointer_to_the_processes_tells_how_many_there_are_first() -> None:
    with opened() as N:
        handle, kept = N.nvmlDeviceGetHandleByIndex(0), torch.ones(1 << 20, device="cuda")
        ask = N._nvmlGetFunctionPointer("nvmlDeviceGetComputeRunningProcesses_v3")
        count = ctypes.c_uint(0)
        assert ask(handle, ctypes.byref(count), None) == N.NVML_ERROR_INSUFFICIENT_SIZE
        room = (N.c_nvmlProcessInfo_t * (count.value + 20))()
        count.value = len(room)
        assert ask(handle, ctypes.byref(count), room) == N.NVML_SUCCESS
        found = {process.pid: process for process in room[: count.value]}
        assert found[os.getpid()].usedGpuMemory >= kept.nbytes
        assert found[os.getpid()].gpuInstanceId == 0xFFFFFFFF
        values = (N.c_nvmlFieldValue_t * 1)()
        values[0].fieldId = N.NVML_FI_DEV_POWER_INSTANT
        fields = N._nvmlGetFunctionPointer("nvmlDeviceGetFieldValues")
        assert fields(handle, ctypes.c_int32(1), ctypes.byref(values)) == N.NVML_SUCCESS
        assert values[0].nvmlReturn == N.NVML_ERROR_NOT_SUPPORTED
