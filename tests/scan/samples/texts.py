"""Devices and backends as strings."""
import torch
import torch.distributed as dist

device = "cuda"  #: "cuda"
torch.zeros(2, device="cuda:1")  #: "cuda:1"
torch.device("cuda", 0)  #: "cuda"
host = torch.zeros(2).to(f"cuda:{0}")  #: f"cuda:{}"
names = ["cuda:%d" % rank for rank in (0, 1)]  #: "cuda:%d"
torch.autocast(device_type="cuda")  #: "cuda"
torch.load("/data/cuda/model.pt", map_location={"cuda:0": "cpu"})  #: "cuda:0"
dist.init_process_group("nccl")  #: "nccl"
dist.init_process_group(backend="cpu:gloo,cuda:nccl")  #: "cpu:gloo,cuda:nccl"
device = "cuda" if torch.cuda.is_available() else "cpu"  #: "cuda", torch.cuda.is_available
dict(device="cuda"), {"device": "cuda"}  #: "cuda", "cuda"

if host.device.type == "cuda":  #: == "cuda"
    pass
elif "cuda" in device or device in ("cuda", "cpu"):  #: == "cuda", == "cuda"
    pass
elif device.startswith("cuda") or dist.get_backend() != "nccl":  #: == "cuda", == "nccl"
    pass
match device:
    case "cuda" | "cpu":  #: == "cuda"
        pass
str(device) == f"cuda:{0}"  #: == f"cuda:{}"
(device, 1) == ("cuda", 1)  #: == "cuda"
device is "cuda"  #: == "cuda"
workers = {"cuda": 4, "cpu": 0}  #: == "cuda"
known = {"cuda": 4, "npu": 4}  #: == "cuda"
torch.load("model.pt", {"cuda:0": "cpu"})  #: "cuda:0"
torch.load("model.pt", {"cuda": "cpu"})  #: "cuda"
dict.update(workers, {"cuda": 8})  #: == "cuda"

hasattr(torch, "cuda")  #: torch.cuda
workers["cuda"]
print("cuda is fast", "barracuda", "cuda_path", f"{'cuda'}")
"cuda"
__all__ = ["cuda"]
