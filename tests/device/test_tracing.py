"""Dynamo, export, fx and TorchScript: traced code does the same as eager code and sees the same device."""

import operator
import textwrap
import warnings
from collections.abc import Callable
from typing import Any

import pytest
import torch

from tests.platforms import ACCELERATORS, SIMULATED, Platform


def traced(body: Callable[[torch.Tensor], torch.Tensor]) -> float:
    return torch.compile(body, backend="eager", fullgraph=True)(torch.ones(1, device="cuda")).item()


def test_streams_events_and_devices_stay_in_the_graph() -> None:
    def streams(tensor: torch.Tensor) -> torch.Tensor:
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            result = tensor + 1
        torch.cuda.current_stream().wait_stream(stream)
        return result

    def devices(tensor: torch.Tensor) -> torch.Tensor:
        with torch.cuda.device(0):
            moved = tensor.to(torch.device("cuda:0")) + torch.cuda.current_device()
            return moved + torch.ones(1, device="cuda")

    assert traced(streams) == 2
    assert traced(devices) == 2


def test_ranges_around_a_break_in_the_graph() -> None:
    @torch.compile(backend="eager")
    def step(tensor: torch.Tensor) -> torch.Tensor:
        torch.cuda.nvtx.range_push("step")
        torch._dynamo.graph_break()
        result = tensor + 1
        torch.cuda.nvtx.range_pop()
        return result

    assert step(torch.ones(1, device="cuda")).item() == 2


def test_the_interface_of_cuda_is_the_devices() -> None:
    from torch._dynamo.device_interface import get_interface_for_device

    own = get_interface_for_device(torch.device("cuda"))
    assert get_interface_for_device("cuda") is get_interface_for_device("cuda:0") is own


@pytest.mark.long_on(*SIMULATED)
def test_a_compiled_step_trains_as_one_that_runs() -> None:
    def losses(wrap: Callable[..., Any]) -> list[float]:
        torch.manual_seed(0)
        model = torch.nn.Linear(4, 4).cuda()
        optimizer = torch.optim.Adam(model.parameters(), lr=0.1)

        def step(tensor: torch.Tensor) -> torch.Tensor:
            optimizer.zero_grad()
            loss = model(tensor).square().sum()
            loss.backward()
            optimizer.step()
            return loss.detach()

        run = wrap(step)
        results = [run(torch.ones(2, 4, device="cuda")).item() for _ in range(2)]
        return [*results, step(torch.ones(2, 4, device="cuda")).item()]

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of Dynamo about what it imports and traces
        compiled = losses(lambda step: torch.compile(step, backend="eager"))
    torch.testing.assert_close(compiled, losses(lambda step: step), rtol=1e-4, atol=1e-5)


@pytest.mark.platforms("cpu", *SIMULATED)  # torch_npu 2.13 records its own empty_strided, without morph too
def test_a_traced_convolution_takes_its_input() -> None:
    convolution, given = torch.nn.Conv2d(1, 1, 2).cuda(), torch.ones(1, 1, 3, 3, device="cuda")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch.jit.trace is deprecated
        traced = torch.jit.trace(convolution, given)
    torch.testing.assert_close(traced(given * 2), convolution(given * 2))


@pytest.mark.long_on(*SIMULATED)
@pytest.mark.platforms("simulated-npu", "simulated-mlu", "simulated-musa")  # torch_npu has its own search
def test_torch_finds_no_device_of_tritons_own(platform: Platform) -> None:
    program = """
        import sys, torch._inductor, types
        sys.modules["triton"] = triton = types.ModuleType("triton")
        triton.backends = types.SimpleNamespace(backends={})
        from torch.utils._triton import has_triton
        print(has_triton())
    """
    assert platform.run(textwrap.dedent(program)).stdout.splitlines()[-1] == "False"


HELD = torch.device("cuda:0")
KINDS = {"cuda": 1, "cpu": 0}


class Layer(torch.nn.Module):
    """Asks a parameter and an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(1, device="cuda"))
        self.device = self.weight.device

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x + (self.device.type == self.weight.device.type == x.device.type == "cuda")


TRACED: dict[str, Callable[[torch.Tensor, torch.device], Any]] = {
    "equal": lambda x, d: x.device.type == "cuda",
    "key": lambda x, d: KINDS[x.device.type],
    "set": lambda x, d: x.device.type in {"cuda"},
    "list": lambda x, d: [each.device.type for each in [x, x]] == ["cuda", "cuda"],
    "tuple": lambda x, d: (x.device.type, x.device.index) == ("cuda", 0),
    "text": lambda x, d: str(x.device) == "cuda:0",
    "repr": lambda x, d: repr(x.device) == "device(type='cuda', index=0)",
    "f-string": lambda x, d: f"{x.device}" == "cuda:0",
    "format": lambda x, d: "{}".format(x.device) == "cuda:0",  # noqa: UP032
    "percent": lambda x, d: "%s" % x.device == "cuda:0",  # noqa: UP031
    "startswith": lambda x, d: x.device.type.startswith("cu"),
    "getattr": lambda x, d: getattr(x.device, "type") == "cuda",  # noqa: B009
    "attrgetter": lambda x, d: operator.attrgetter("device.type")(x) == "cuda",
    "argument": lambda x, d: d.type == "cuda",
    "global": lambda x, d: HELD.type == "cuda",
    "made inside": lambda x, d: torch.zeros(1, device="cuda").device.type == "cuda",
    "device": lambda x, d: x.device == torch.device("cuda:0"),
    "tensor's type": lambda x, d: x.type() == "torch.cuda.FloatTensor",
    "given to torch": lambda x, d: torch.ones(1, device=x.device.type).is_cuda,
    "inner function": lambda x, d: (lambda: x.device.type)() == "cuda",
}


def repeated(function: Callable[..., torch.Tensor], *arguments: Any, backend: str) -> list[float]:
    """Calls a function three times that is compiled once."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # torch imports its own TorchScript, which is deprecated
        torch.compiler.reset()
        compiled = torch.compile(function, backend=backend, fullgraph=True)
        with torch._dynamo.config.patch(error_on_recompile=True):
            return [compiled(*arguments).item() for _ in range(3)]


def scripted(function: Any) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        return torch.jit.script(function)


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
@pytest.mark.parametrize("name", TRACED)
def test_compiled(name: str, backend: str) -> None:
    x = torch.ones(1, device="cuda:0")
    use = TRACED[name]
    assert repeated(lambda x, d: x + use(x, d), x, x.device, backend=backend) == [2.0] * 3


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_compiled_in_a_module_of_torch(backend: str) -> None:
    """torch calls the layer, and its guards are checked in torch's frames."""
    layers = torch.nn.Sequential(Layer(), Layer())
    assert repeated(layers, torch.ones(1, device="cuda"), backend=backend) == [3.0] * 3


@pytest.mark.platforms(*ACCELERATORS)
def test_compiled_code_that_names_the_vendor(platform: Platform) -> None:
    namespace: dict[str, Any] = {"__name__": "train"}
    exec(f"def f(x): return x + (x.device.type == {platform.device_type!r})", namespace)
    assert repeated(namespace["f"], torch.ones(1, device="cuda"), backend="eager") == [2.0] * 3


def scripted_branch(x: torch.Tensor) -> torch.Tensor:
    if x.device.type == "cuda":
        return x + 1
    return x - 1


def scripted_text(x: torch.Tensor) -> str:
    return str(x.device)


class Attention(torch.nn.Module):
    """Calls code of torch's that asks for devices itself."""

    def __init__(self) -> None:
        super().__init__()
        self.inner = torch.nn.MultiheadAttention(4, 1)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y, _ = self.inner(x, x, x)
        return y + 1 if x.device.type == "cuda" else y


def test_scripted() -> None:
    x = torch.ones(1, device="cuda:0")
    assert scripted(scripted_branch)(x).item() == 2
    assert scripted(scripted_text)(x) == "cuda:0"
    layer, deep = Attention().cuda(), torch.ones(1, 1, 4, device="cuda")
    torch.testing.assert_close(scripted(layer)(deep), layer(deep))


@pytest.mark.platforms("npu", "simulated-npu")
def test_scripted_code_that_names_the_vendor() -> None:
    def kind(x: torch.Tensor) -> int:
        if x.device.type == "cuda":
            return 1
        if x.device.type == "npu":
            return 2
        return 3

    assert scripted(kind)(torch.ones(1, device="cuda")) == 2


LATE = """
import torch, torch._dynamo.trace_rules as rules

rules.lookup(torch.ones)  # Dynamo's list of torch's functions is made
import morph
morph.activate()
compiled = torch.compile(lambda x: x + torch.ones(1, device="cuda"), backend="eager", fullgraph=True)
assert compiled(torch.ones(1, device="cuda")).item() == 2
morph.deactivate()
assert torch.compile(lambda x: x + torch.ones(1), backend="eager", fullgraph=True)(torch.ones(1)).item() == 2
"""


@pytest.mark.platforms("npu", "simulated-npu")
def test_factories_compile_where_dynamo_was_there_before(platform: Platform) -> None:
    platform.run(LATE, morph=False, environment={"MORPH_BACKEND": "npu"})
