"""Saving and loading: checkpoints, their device tags, and every form of map_location."""

import copy
import io
import pathlib
import pickle
import subprocess
import sys
import tempfile
import zipfile

import torch
import torch.nn as nn


# state saved by torch.save on a machine with two NVIDIA GPUs: "first" on cuda:0, "second" on cuda:1
CUDA_CHECKPOINT = pathlib.Path(__file__).with_name("saved_on_cuda.pt")


def _saved(value):
    buffer = io.BytesIO()
    torch.save(value, buffer)
    buffer.seek(0)
    return buffer


def _scripted_again(module, **options):
    buffer = io.BytesIO()
    torch.jit.save(torch.jit.script(module), buffer)
    buffer.seek(0)
    return torch.jit.load(buffer, **options)


def _tags(buffer):
    with zipfile.ZipFile(buffer) as archive:
        return next(archive.read(name) for name in archive.namelist() if name.endswith("data.pkl"))


def device_tensor_comes_back():
    x = torch.load(_saved(torch.arange(3, device="cuda")))
    assert x.is_cuda and x.tolist() == [0, 1, 2]


def state_of_a_module_comes_back():
    module = nn.Linear(2, 2).cuda()
    nn.Linear(2, 2).cuda().load_state_dict(torch.load(_saved(module.state_dict())))


def cuda_checkpoint_to_the_cpu():
    state = torch.load(CUDA_CHECKPOINT, map_location="cpu")
    assert {value.device for value in state.values()} == {torch.device("cpu")}


def cuda_checkpoint_to_a_mapping_onto_the_cpu():
    state = torch.load(CUDA_CHECKPOINT, map_location={"cuda:0": "cpu", "cuda:1": "cpu"})
    assert state["first"].device == torch.device("cpu")


def cuda_checkpoint_to_a_function():
    state = torch.load(CUDA_CHECKPOINT, map_location=lambda storage, location: storage)
    assert state["first"].device == torch.device("cpu")


def cuda_checkpoint_to_a_function_that_moves():
    state = torch.load(CUDA_CHECKPOINT, map_location=lambda storage, location: storage.cuda(0))
    assert state["second"].get_device() == 0


def cuda_checkpoint_to_a_function_that_looks():
    seen = []
    torch.load(CUDA_CHECKPOINT, map_location=lambda storage, location: seen.append(location) or storage)
    assert sorted(seen) == ["cuda:0", "cuda:1"]


def weights_only_with_a_device():
    state = torch.load(_saved({"device": torch.device("cuda:0")}), weights_only=True)
    assert state["device"] == torch.device("cuda:0")


def memory_mapped():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "state.pt")
        torch.save({"x": torch.ones(2)}, path)
        assert torch.load(path, mmap=True, map_location="cuda")["x"].is_cuda


def path_with_cuda_in_its_name():
    with tempfile.TemporaryDirectory(prefix="data_cuda_") as folder:
        path = pathlib.Path(folder, "cuda.pt")
        torch.save(torch.ones(1, device="cuda"), str(path))
        assert path.exists() and torch.load(str(path)).is_cuda


def optimizer_state():
    model = nn.Linear(2, 2).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(1, 2, device="cuda")).sum().backward()
    optimizer.step()
    state = torch.load(_saved(optimizer.state_dict()), map_location="cuda")
    optimizer.load_state_dict(state)
    assert optimizer.state[model.weight]["exp_avg"].is_cuda


def random_states():
    states = torch.load(_saved(torch.cuda.get_rng_state_all()))
    torch.cuda.set_rng_state_all(states)
    assert len(states) == torch.cuda.device_count()


def old_format():
    buffer = io.BytesIO()
    torch.save(torch.ones(2, device="cuda"), buffer, _use_new_zipfile_serialization=False)
    buffer.seek(0)
    assert torch.load(buffer).is_cuda


def assigned_state():
    with torch.device("meta"):
        module = nn.Linear(2, 2)
    module.load_state_dict(nn.Linear(2, 2).cuda().state_dict(), assign=True)
    assert module.weight.is_cuda


def saved_by_a_child():
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder, "child.pt")
        code = f"import torch; torch.save(torch.ones(1).cuda(), {str(path)!r})"
        subprocess.run([sys.executable, "-c", code], check=True)
        assert torch.load(path).is_cuda


EXPRESSIONS = {
    "scripted_module_is_loaded_to_cuda": lambda: (
        _scripted_again(nn.Linear(2, 2), map_location="cuda").weight.is_cuda
    ),
    "scripted_module_comes_back_to_its_device": lambda: (
        _scripted_again(nn.Linear(2, 2).cuda()).weight.is_cuda
    ),
    "scripted_module_is_loaded_to_a_device": lambda: (
        _scripted_again(nn.Linear(2, 2).cuda(), map_location=torch.device("cpu")).weight.device.type == "cpu"
    ),
    "cuda_checkpoint_to_cuda": lambda: all(
        value.is_cuda for value in torch.load(CUDA_CHECKPOINT, map_location="cuda").values()
    ),
    "cuda_checkpoint_to_a_mapping": lambda: (
        torch.load(CUDA_CHECKPOINT, map_location={"cuda:1": "cuda:0"})["second"].get_device() == 0
    ),
    "checkpoint_is_tagged_for_other_machines": lambda: (
        b"cuda:0" in _tags(_saved(torch.zeros(1, device="cuda")))
    ),
    "location_tag_of_a_storage": lambda: (
        torch.serialization.location_tag(torch.zeros(1, device="cuda").untyped_storage()) == "cuda:0"
    ),
    "whole_module": lambda: torch.load(_saved(nn.Linear(2, 2).cuda()), weights_only=False).weight.is_cuda,
    "device_tensor_comes_back_to_its_device": lambda: (
        torch.load(_saved(torch.zeros(1, device="cuda:1"))).get_device() == 1
    ),
    "cuda_checkpoint": lambda: torch.load(CUDA_CHECKPOINT)["first"].is_cuda,
    "cuda_checkpoint_on_the_second_device": lambda: torch.load(CUDA_CHECKPOINT)["second"].get_device() == 1,
    "cuda_checkpoint_has_its_values": lambda: (
        torch.load(CUDA_CHECKPOINT, map_location="cuda:0")["first"].tolist() == [1.0, 2.0]
    ),
    "cuda_checkpoint_to_a_device": lambda: (
        torch.load(CUDA_CHECKPOINT, map_location=torch.device("cuda:0"))["second"].get_device() == 0
    ),
    "cuda_checkpoint_to_a_mapping_upwards": lambda: (
        torch.load(CUDA_CHECKPOINT, map_location={"cuda:0": "cuda:1"})["first"].get_device() == 1
    ),
    "host_checkpoint_to_cuda": lambda: (
        torch.load(_saved({"x": torch.ones(2)}), map_location="cuda:0")["x"].is_cuda
    ),
    "host_checkpoint_to_the_second_device": lambda: (
        torch.load(_saved(torch.ones(2)), map_location="cuda:1").get_device() == 1
    ),
    "host_checkpoint_stays_on_the_host": lambda: not torch.load(_saved(torch.ones(2))).is_cuda,
    "weights_only": lambda: (
        torch.load(CUDA_CHECKPOINT, map_location="cuda", weights_only=True)["first"].is_cuda
    ),
    "anything": lambda: torch.load(CUDA_CHECKPOINT, weights_only=False)["first"].is_cuda,
    "key_with_cuda_in_its_name": lambda: (
        list(torch.load(_saved({"cuda_rng": torch.ones(1), "cuda": 1}))) == ["cuda_rng", "cuda"]
    ),
    "string_cuda_is_data": lambda: torch.load(_saved({"device": "cuda:0"}))["device"] == "cuda:0",
    "pickled_tensor": lambda: pickle.loads(pickle.dumps(torch.ones(2, device="cuda"))).is_cuda,
    "pickled_module": lambda: pickle.loads(pickle.dumps(nn.Linear(2, 2).cuda())).weight.is_cuda,
    "pickled_parameter": lambda: isinstance(copy.deepcopy(nn.Parameter(torch.ones(1).cuda())), nn.Parameter),
}
