"""Everything that makes a tensor on "cuda"."""

from __future__ import annotations

import warnings

import pytest
import torch

pytestmark = [
    pytest.mark.platforms("simulated-npu", "npu", "simulated-xpu"),
    pytest.mark.usefixtures("engaged"),
]

FACTORIES = [
    'torch.empty(2, device="cuda")',
    "torch.empty(2, device=0)",
    'torch.empty(2, device=torch.device("cuda"))',
    'torch.empty_strided((2,), (1,), device="cuda")',
    'torch.zeros(2, device="cuda:0")',
    'torch.ones(2, device="cuda", dtype=torch.float16)',
    'torch.full((2,), 1.0, device="cuda")',
    'torch.tensor([1, 2], device="cuda")',
    'torch.arange(3, device="cuda")',
    'torch.linspace(0, 1, 3, device="cuda")',
    'torch.eye(3, device="cuda")',
    'torch.rand(2, device="cuda")',
    'torch.randn(2, device="cuda")',
    'torch.randint(3, (2,), device="cuda")',
    'torch.randperm(3, device="cuda")',
    'torch.normal(0.0, 1.0, (2,), device="cuda")',
    'torch.tril_indices(3, 3, device="cuda")',
    'torch.hann_window(3, device="cuda")',
    'torch.zeros(2, out=torch.empty(2, device="cuda"))',
    'torch.add(torch.ones(2).cuda(), 1, out=torch.empty(2, device="cuda"))',
    'torch.sparse_coo_tensor(torch.zeros(1, 1, dtype=torch.long), torch.ones(1), (3,), device="cuda")',
    'torch.sparse_csr_tensor(torch.tensor([0, 1]), torch.tensor([0]), torch.ones(1), (1, 3), device="cuda")',
    'torch.nested.nested_tensor([torch.ones(2)], device="cuda")',
    'torch.nn.Linear(2, 2, device="cuda").weight',
    "torch.nn.Embedding(2, 2).cuda().weight",
]


@pytest.mark.parametrize("expression", FACTORIES)
def test_lands_on_the_device(expression: str, device_type: str) -> None:
    with warnings.catch_warnings():
        # torch warns that sparse and nested layouts are experimental.
        warnings.simplefilter("ignore")
        made = eval(expression)
    assert made.device.type == device_type
    assert made.is_cuda


STORAGES = {
    'torch.UntypedStorage(4, device="cuda")': 0,
    'torch.UntypedStorage(4, device=torch.device("cuda:0"))': 0,
    "torch.UntypedStorage(4, device=0)": 0,
    'torch.UntypedStorage(device="cuda")': 0,
    'torch.UntypedStorage([1, 2, 3], device="cuda")': 0,
    'torch.TypedStorage(4, dtype=torch.float16, device="cuda").untyped()': 0,
    'torch.UntypedStorage(4, device="cuda:1")': 1,
    "torch.UntypedStorage(4, device=1)": 1,
}


@pytest.mark.parametrize(("expression", "index"), STORAGES.items())
def test_storages_land_on_the_device(expression: str, index: int) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that typed storages are deprecated
        storage = eval(expression)
    assert storage.device == torch.device("cuda", index)
    assert torch.empty(0, dtype=torch.uint8, device=storage.device).set_(storage).device == storage.device


def test_storages_elsewhere_stay_there() -> None:
    assert torch.UntypedStorage(4).device.type == "cpu"
    assert torch.UntypedStorage(4, device=None).nbytes() == 4
    assert torch.UntypedStorage(4, device="meta").device.type == "meta"
    with pytest.raises(RuntimeError, match="at start of device string: nonsense"):
        torch.UntypedStorage(4, device="nonsense")


def test_generators() -> None:
    generator = torch.Generator(device="cuda")
    drawn = []
    for _ in range(2):
        generator.manual_seed(3)
        drawn.append(torch.randn(3, device="cuda", generator=generator).tolist())
    assert drawn[0] == drawn[1]
    state = torch.Generator("cuda:0").get_state()
    assert generator.set_state(state) is generator
    assert torch.randperm(4, device="cuda", generator=generator).is_cuda


def test_the_count_of_what_came_through() -> None:
    from tests.seam.engaging import seam

    calls = {"aten::empty.memory_format": 3, "aten::to.dtype_layout": 2, "aten::tril_indices": 1}
    before = {name: seam().caught().get(name, 0) for name in calls}
    for _ in range(3):
        torch.empty(2, device="cuda")
    torch.ones(2).cuda().to("cuda")
    torch.tril_indices(2, 2, device="cuda")
    torch.empty(2).to("cpu")
    after = seam().caught()
    assert {name: after[name] - before[name] for name in calls} == calls
