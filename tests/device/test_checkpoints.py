"""Checkpoints: every form of map_location, and the device tags in the saved file."""

import io
import os
import pathlib
import pickletools
import subprocess
import sys
import warnings
import zipfile
from typing import Any

import pytest
import torch


def own(index: int = 0) -> torch.device:
    return torch.device("cuda", index)


def contents() -> dict[str, Any]:
    model = torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.BatchNorm1d(2)).cuda()
    optimizer = torch.optim.Adam(model.parameters())
    model(torch.ones(3, 2, device="cuda")).sum().backward()
    optimizer.step()
    return {
        "cuda": "a key",
        "model": model.state_dict(),
        "optimizer": optimizer.state_dict(),
        "device": own(),
        "view": torch.arange(16.0, device="cuda").reshape(4, 4)[1:, 1:],
        "half": torch.ones(3, device="cuda", dtype=torch.bfloat16),
    }


def saved(zipped: bool = True) -> io.BytesIO:
    buffer = io.BytesIO()
    torch.save(contents(), buffer, _use_new_zipfile_serialization=zipped)
    return buffer


def loaded(buffer: io.BytesIO, **options: Any) -> Any:
    buffer.seek(0)
    return torch.load(buffer, **options)


def from_a_cuda_machine() -> io.BytesIO:
    """Returns a file as a CUDA machine writes it, by registering the tag `cuda:0` for CPU tensors."""
    registry = torch.serialization._package_registry
    entry = (0, lambda storage: "cuda:0", lambda storage, location: None)
    registry.insert(0, entry)
    try:
        buffer = io.BytesIO()
        torch.save({"tensor": torch.ones(2)}, buffer)
    finally:
        registry.remove(entry)
    return buffer


def test_a_file_of_a_cuda_machine_loads_onto_the_device() -> None:
    assert loaded(from_a_cuda_machine())["tensor"].device == own()
    assert loaded(from_a_cuda_machine(), map_location="cpu")["tensor"].device.type == "cpu"
    assert loaded(from_a_cuda_machine(), map_location={"cuda:0": "cpu"})["tensor"].device.type == "cpu"


def test_every_form_of_map_location_names_the_device() -> None:
    forms = ["cuda", "cuda:0", own(), {"cuda:0": "cuda"}, lambda storage, tag: storage.cuda(), None]
    for zipped in (True, False):
        file = saved(zipped)
        for form in forms:
            for weights_only in (True, False):
                result = loaded(file, map_location=form, weights_only=weights_only)
                assert result["view"].device == result["device"] == own(), form
                assert result["view"][0, 0].item() == 5
                assert result["cuda"] == "a key"


def test_another_device_is_reached_by_every_form() -> None:
    for form in ("cuda:1", own(1), {"cuda:0": "cuda:1"}, lambda storage, tag: storage.cuda(1)):
        assert loaded(saved(), map_location=form)["view"].device == own(1), form


def test_the_tag_is_what_cuda_writes() -> None:
    tags: list[str] = []
    loaded(saved(), map_location=lambda storage, tag: tags.append(tag) or storage)
    assert set(tags) == {"cpu", "cuda:0"}  # Adam's steps: on the host


def test_a_device_that_is_not_there_is_one_clear_error() -> None:
    with pytest.raises(RuntimeError, match="device 7 but torch.cuda.device_count.. is 2"):
        loaded(saved(), map_location="cuda:7", weights_only=False)


def test_the_file_names_nothing_but_torch(tmp_path: pathlib.Path) -> None:
    path = tmp_path / "model.pt"
    torch.save(contents(), path)
    with zipfile.ZipFile(path) as archive:
        pickled = archive.read(next(name for name in archive.namelist() if name.endswith("data.pkl")))
    arguments = [argument for _, argument, _ in pickletools.genops(pickled) if isinstance(argument, str)]
    assert not [text for text in arguments if "torch_npu" in text or "morph" in text]
    assert not [text for text in arguments if text.startswith("npu") and "format" not in text]
    assert torch.serialization.get_unsafe_globals_in_checkpoint(path) == []


PLAIN = """
import sys, torch
for path in sys.argv[1:]:
    for weights_only in (True, False):
        checkpoint = torch.load(path, map_location="cpu", weights_only=weights_only)
        assert checkpoint["view"][0, 0].item() == 5 and len(checkpoint["optimizer"]["state"]) == 4
        assert checkpoint["device"].type == sys.stdin.readline().strip()
assert "torch_npu" not in sys.modules and "morph" not in sys.modules
"""


def test_a_machine_without_morph_and_the_vendor_loads_it(tmp_path: pathlib.Path) -> None:
    paths = [tmp_path / "zipped.pt", tmp_path / "legacy.pt"]
    for path in paths:
        path.write_bytes(saved(zipped=path.stem == "zipped").getvalue())
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MORPH")}
    subprocess.run(
        [sys.executable, "-P", "-S", "-c", f"import site; site.main()\n{PLAIN}", *map(str, paths)],
        env={**kept, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", "PYTHONPATH": ""},
        input="cuda\n" * 4,
        text=True,
        check=True,
        cwd=tmp_path,
    )


def test_scripted_modules(tmp_path: pathlib.Path) -> None:
    warnings.simplefilter("ignore", DeprecationWarning)  # torch.jit is deprecated
    traced = torch.jit.trace(torch.nn.Linear(2, 2).cuda(), torch.ones(1, 2, device="cuda"), check_trace=False)
    torch.jit.save(traced, tmp_path / "traced.pt")
    for form in ("cuda", own(), None):
        parameter = next(torch.jit.load(tmp_path / "traced.pt", map_location=form).parameters())
        assert parameter.device == own()
    on_host = torch.jit.load(tmp_path / "traced.pt", map_location="cpu")
    assert next(on_host.parameters()).device.type == "cpu"
