"""cuda-python's bindings: memory, streams, events and devices by the runtime and the driver."""

import importlib
from collections.abc import Iterator
from typing import Any

import torch

import morph
from morph.backends.tables import interfaces


def run() -> Iterator[str]:
    """Reads every constant; on the software device it uses the functions as a program would."""
    for module in ("cuda", "cudart", "nvrtc"):
        importlib.import_module(f"cuda.{module}")
    driver, runtime = (importlib.import_module(f"cuda.bindings.{name}") for name in ("driver", "runtime"))
    if morph.status().backend == "cpu":
        _compute(runtime)
        _steer(driver)
    yield from (name for name in interfaces.load("cuda").names if name.rpartition(".")[2].isupper())


def _checked(outcome: tuple[Any, ...]) -> Any:
    error, *values = outcome
    assert not error, error
    return values[0] if len(values) == 1 else values


def _compute(runtime: Any) -> None:
    kinds, host = runtime.cudaMemcpyKind, torch.zeros(16)
    _checked(runtime.cudaSetDevice(_checked(runtime.cudaGetDeviceCount()) - 1))
    assert _checked(runtime.cudaGetDeviceProperties(_checked(runtime.cudaGetDevice()))).name
    pointer, total = _checked(runtime.cudaMalloc(64)), _checked(runtime.cudaMemGetInfo())[1]
    assert total == torch.cuda.mem_get_info()[1]
    _checked(runtime.cudaMemset(pointer, 0, 64))
    _checked(runtime.cudaMemcpy(host.data_ptr(), pointer, 64, kinds.cudaMemcpyDeviceToHost))
    stream, event = _checked(runtime.cudaStreamCreate()), _checked(runtime.cudaEventCreate())
    _checked(runtime.cudaMemcpyAsync(pointer, host.data_ptr(), 64, kinds.cudaMemcpyHostToDevice, stream))
    _checked(runtime.cudaEventRecord(event, stream))
    _checked(runtime.cudaEventSynchronize(event))
    _checked(runtime.cudaStreamSynchronize(stream))
    _checked(runtime.cudaEventDestroy(event))
    _checked(runtime.cudaStreamDestroy(stream))
    assert _checked(runtime.cudaPointerGetAttributes(pointer)).device == torch.cuda.current_device()
    _checked(runtime.cudaFree(pointer))
    _checked(runtime.cudaDeviceSynchronize())
    assert _checked(runtime.cudaGetErrorName(runtime.cudaGetLastError()[0])) == b"cudaSuccess"
    _checked(runtime.cudaSetDevice(0))


def _steer(driver: Any) -> None:
    _checked(driver.cuInit(0))
    device = _checked(driver.cuDeviceGet(_checked(driver.cuDeviceGetCount()) - 1))
    assert _checked(driver.cuDeviceGetName(64, device))
    assert _checked(driver.cuDeviceTotalMem(device))
    _checked(driver.cuCtxPushCurrent(_checked(driver.cuDevicePrimaryCtxRetain(device))))
    pointer, back = _checked(driver.cuMemAlloc(4)), bytearray(4)
    _checked(driver.cuMemcpyHtoD(pointer, b"word", 4))
    _checked(driver.cuMemcpyDtoH(back, pointer, 4))
    assert back == b"word"
    _checked(driver.cuMemFree(pointer))
    _checked(driver.cuCtxSynchronize())
    _checked(driver.cuCtxPopCurrent())
    _checked(driver.cuDevicePrimaryCtxRelease(device))
