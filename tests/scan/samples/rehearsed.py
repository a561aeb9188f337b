"""A small program that looks up names in many ways; it runs on the simulated device."""
import importlib

import torch
import torch as t
import torch.backends.cudnn as cudnn  #: torch.backends.cudnn
from torch import cuda  #: torch.cuda
from torch.cuda import Event, memory as memories  #: torch.cuda.Event, torch.cuda.memory
from torch.cuda.amp import GradScaler as Scaler, autocast as ac  #: torch.cuda.amp.GradScaler, torch.cuda.amp.autocast


def measured(work, device=cuda):  #: torch.cuda
    start, end = Event(enable_timing=True), Event(enable_timing=True)  #: torch.cuda.Event, torch.cuda.Event
    start.record()
    result = work()
    end.record()
    device.synchronize()  #: torch.cuda.synchronize
    return result, start.elapsed_time(end)


def step(model, data):
    from torch.cuda import nvtx  #: torch.cuda.nvtx

    scaler, optimizer = Scaler(), torch.optim.SGD(model.parameters(), lr=0.1)  #: torch.cuda.amp.GradScaler
    with nvtx.range("step"), ac(dtype=torch.float16):  #: torch.cuda.nvtx.range, torch.cuda.amp.autocast
        loss = model(data).sum()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
    return loss.detach()


def main():
    if not torch.cuda.is_available():  #: torch.cuda.is_available
        return
    t.cuda.manual_seed_all(0)  #: torch.cuda.manual_seed_all
    cudnn.benchmark = True  #: torch.backends.cudnn.benchmark
    torch.cuda.set_device(0)  #: torch.cuda.set_device
    ask = torch.cuda.get_device_properties  #: torch.cuda.get_device_properties
    print(ask(0).name, [cuda.get_device_name(i) for i in range(cuda.device_count())])  #: torch.cuda.get_device_properties, torch.cuda.get_device_name, torch.cuda.device_count
    model = torch.nn.Linear(4, 4).cuda()  #: .cuda()
    data = torch.ones(2, 4, device="cuda")  #: "cuda"
    loss, _ = measured(lambda: step(model, data))
    module = importlib.import_module("torch.cuda")  #: torch.cuda
    side = module.Stream()  #: torch.cuda.Stream
    side.wait_stream(getattr(cuda, "current_stream")())  #: torch.cuda, torch.cuda.current_stream
    with torch.cuda.stream(side):  #: torch.cuda.stream
        loss.record_stream(side)
    states = {"all": cuda.get_rng_state_all}  #: torch.cuda.get_rng_state_all
    cuda.set_rng_state_all(states["all"]())  #: torch.cuda.set_rng_state_all
    print(memories.memory_allocated() >= 0, (torch  #: torch.cuda.memory.memory_allocated, torch.cuda.max_memory_allocated
          .cuda
          .max_memory_allocated()) > 0)
    torch.cuda.empty_cache()  #: torch.cuda.empty_cache
    print(hasattr(torch.cuda, "gds"), loss.is_cuda)  #: torch.cuda, torch.cuda.gds, .is_cuda


if __name__ == "__main__":
    main()
