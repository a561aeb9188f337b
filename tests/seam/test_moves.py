"""Everything that makes a tensor on "cuda" or moves one there: where it lands, and what is left alone."""

import warnings

import pytest
import torch

pytestmark = [
    pytest.mark.platforms("simulated-npu", "npu", "simulated-xpu"),
    pytest.mark.usefixtures("engaged"),
]
both = pytest.mark.parametrize("engaged", ["native", "python"], indirect=True)

MOVES = [
    'x.cuda()',
    'x.cuda(0)',
    'x.cuda("cuda:0")',
    'x.cuda(torch.device("cuda"))',
    'x.cuda(device=0)',
    'x.cuda(device=torch.device("cuda", 0), non_blocking=True)',
    'x.cuda(None, True, memory_format=torch.preserve_format)',
    'x.to("cuda")',
    'x.to("cuda:0")',
    'x.to(torch.device("cuda"))',
    'x.to(torch.device("cuda:0"))',
    'x.to(0)',
    'x.to(device="cuda", dtype=torch.float32)',
    'x.to("cuda", torch.float32, non_blocking=True)',
]  # fmt: skip
ELSEWHERE = [
    'x.new_zeros(2, device="cuda")',
    'torch.zeros_like(x, device="cuda")',
    'torch.as_tensor(x, device="cuda")',
    'torch.as_tensor([1.0], device="cuda")',
    'torch.asarray([1.0], device="cuda")',
    'x.type("torch.cuda.FloatTensor")',
    'torch.from_numpy(x.numpy()).cuda()',
    'x.to_sparse().cuda()',
    'x.to_sparse().to("cuda")',
]  # fmt: skip


NATIVE = [  # which the seam in Python does not see
    'torch.func.vmap(lambda row: row.to("cuda") + row.cuda())(torch.ones(2, 2))',
    'torch.func.functionalize(lambda t: t.to("cuda") + torch.ones(2, device="cuda"))(x)',
    'torch.sparse_coo_tensor(torch.zeros(1, 1, dtype=torch.long), torch.ones(1), (3,), device="cuda")',
    'torch.sparse_csr_tensor(torch.tensor([0, 1]), torch.tensor([0]), torch.ones(1), (1, 3), device="cuda")',
]  # fmt: skip


def move(expression: str, x: torch.Tensor) -> torch.Tensor:
    result = eval(expression, {"torch": torch, "x": x})
    assert isinstance(result, torch.Tensor)
    return result


@both
@pytest.mark.parametrize("expression", MOVES)
def test_moves_to_the_device_and_leaves_the_host_tensor_alone(expression: str, device_type: str) -> None:
    host = torch.zeros(2)
    moved = move(expression, host)
    moved.add_(1)
    assert moved.device.type == device_type
    assert moved.is_cuda
    assert host.tolist() == [0, 0]


@both
@pytest.mark.parametrize("expression", MOVES)
@pytest.mark.parametrize("origin", ['torch.zeros(2, device="cuda")', "torch.zeros(2).cuda()"])
def test_a_tensor_already_there_is_returned_itself(expression: str, origin: str) -> None:
    there = move(origin, torch.empty(0))
    assert move(expression, there) is there


@both
@pytest.mark.parametrize("expression", ["x.cpu()", 'x.to("cpu")', 'x.to(device="cpu", non_blocking=True)'])
def test_a_host_copy_does_not_follow_the_device(expression: str) -> None:
    there = torch.zeros(2, device="cuda")
    host = move(expression, there)
    there.add_(1)
    torch.accelerator.synchronize()
    assert host.tolist() == [0, 0]


@both
def test_the_gradient_lands_where_the_leaf_is() -> None:
    host = torch.ones(2, requires_grad=True)
    (host.to("cuda") * host.cuda()).sum().backward()
    assert host.grad is not None
    assert host.grad.device.type == "cpu"
    assert host.grad.tolist() == [2, 2]


@both
def test_a_leaf_on_the_device_stays_a_leaf() -> None:
    assert torch.ones(2, device="cuda", requires_grad=True).to("cuda").is_leaf


@both
@pytest.mark.parametrize(
    "expression", ["m.cuda()", "m.cuda(0)", 'm.to("cuda")', 'm.to(torch.device("cuda"))']
)
def test_a_module_keeps_its_parameters(expression: str, device_type: str) -> None:
    module = torch.nn.Linear(2, 2)
    weight = module.weight
    optimizer = torch.optim.SGD(module.parameters(), lr=0.1)
    eval(expression, {"torch": torch, "m": module})
    module(torch.ones(1, 2, device="cuda")).sum().backward()
    optimizer.step()
    assert module.weight is weight
    assert weight.is_cuda
    assert weight.device.type == device_type
    assert module.cpu().weight is weight


@both
def test_inference_mode(device_type: str) -> None:
    with torch.inference_mode():
        moved = torch.ones(2).to("cuda")
        assert moved.device.type == device_type
        assert moved.to("cuda") is moved
        assert torch.ones(2, device="cuda").is_inference()


@both
@pytest.mark.platforms("npu")
def test_the_second_device() -> None:
    moves = [torch.zeros(2).cuda(1), torch.zeros(2).to(1), torch.zeros(2, device="cuda:1")]
    assert [moved.get_device() for moved in moves] == [1, 1, 1]
    assert moves[0].to("cuda:0").get_device() == 0


@both
@pytest.mark.parametrize(
    "expression",
    [
        "x.cuda(7)",
        'x.cuda("cuda:7")',
        'x.cuda(torch.device("cuda:7"))',
        'x.to("cuda:7")',
        'torch.empty(2, device="cuda:7")',
        'torch.empty(2, device=torch.device("cuda:7"))',
        'torch.empty_strided((2,), (1,), device="cuda:7")',
        'torch.tril_indices(2, 2, device="cuda:7")',
    ],
)
def test_an_index_that_no_device_has(expression: str) -> None:
    with pytest.raises(
        RuntimeError, match=r"^cuda:7: the device does not exist, there (are 2|is 1) \((npu|xpu|tpu)\)$"
    ):
        move(expression, torch.ones(2))


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ('torch.ones(2, device="cuda:x")', "Invalid device string: 'cuda:x'"),
        ("x.cuda(-1)", "Device index must not be negative"),
        ("x.cuda(256)", "cuda:256: the device does not exist"),
        ('x.cuda("meta")', "Invalid device, must be cuda device"),
    ],
)
def test_torchs_own_errors_stay(expression: str, message: str) -> None:
    with pytest.raises(RuntimeError, match=message):
        move(expression, torch.ones(2))


FACTORIES = [
    'torch.ones(2).to(device=torch.device("cuda:0"), dtype=torch.float64)',
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
    'torch.nested.nested_tensor([torch.ones(2)], device="cuda")',
    'torch.nn.Linear(2, 2, device="cuda").weight',
    "torch.nn.Embedding(2, 2).cuda().weight",
]


@both
@pytest.mark.parametrize("expression", [*ELSEWHERE, *FACTORIES])
def test_lands_on_the_device(expression: str, device_type: str) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch warns that sparse and nested layouts are experimental
        made = move(expression, torch.ones(2))
    assert made.device.type == device_type
    assert made.is_cuda


@pytest.mark.parametrize("expression", NATIVE)
def test_what_the_native_seam_alone_sees(expression: str, device_type: str) -> None:
    test_lands_on_the_device(expression, device_type)


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
