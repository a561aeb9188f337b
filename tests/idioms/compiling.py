"""torch.compile, torch.fx, torch.export and fake tensors with CUDA inside."""

import torch
import torch.fx
import torch.nn as nn


def _compiled(function, backend="eager"):
    torch.compiler.reset()
    return torch.compile(function, backend=backend, fullgraph=True)


def compiled_factory_ahead_of_time():
    compiled = _compiled(lambda x: x + torch.zeros(2, device="cuda"), "aot_eager")
    assert compiled(torch.ones(2, device="cuda")).is_cuda


def compiled_question_of_a_type():
    def step(x):
        return x + 1 if x.device.type == "cuda" else x

    assert _compiled(step)(torch.ones(1, device="cuda")).item() == 2


def compiled_autocast():
    def product(x):
        with torch.autocast("cuda", dtype=torch.bfloat16):
            return x @ x

    assert _compiled(product, "aot_eager")(torch.ones(2, 2, device="cuda")).dtype is torch.bfloat16


def compiled_autocast_of_cuda():
    def product(x):
        with torch.amp.autocast("cuda", dtype=torch.bfloat16):
            return x @ x

    assert _compiled(product)(torch.ones(2, 2, device="cuda")).dtype is torch.bfloat16


def compiled_stream():
    def step(x):
        stream = torch.cuda.Stream()
        with torch.cuda.stream(stream):
            return x + 1

    torch.compiler.reset()
    assert torch.compile(step, backend="eager")(torch.ones(1, device="cuda")).item() == 2


def compiled_module_trains():
    model = nn.Sequential(nn.Linear(2, 4), nn.ReLU(), nn.Linear(4, 1)).cuda()
    _compiled(model, "aot_eager")(torch.ones(1, 2, device="cuda")).sum().backward()
    assert model[0].weight.grad.is_cuda


def compiled_after_import_of_dynamo():
    import torch._dynamo

    torch._dynamo.reset()
    assert torch._dynamo.optimize("eager")(lambda x: x + 1)(torch.ones(1, device="cuda")).item() == 2


def explained():
    torch.compiler.reset()
    explanation = torch._dynamo.explain(lambda x: x.cuda() + torch.zeros(2, device="cuda"))(torch.ones(2))
    assert explanation.graph_break_count == 0


def exported():
    class Shift(nn.Module):
        def forward(self, x):
            return x + torch.ones(2, device="cuda")

    program = torch.export.export(Shift().cuda(), (torch.ones(2, device="cuda"),))
    assert program.module()(torch.zeros(2, device="cuda")).tolist() == [1, 1]


def traced_by_fx():
    def shift(x):
        return x.cuda() + torch.ones(2, device="cuda")

    traced = torch.fx.symbolic_trace(shift)
    assert traced(torch.zeros(2)).is_cuda and ".cuda(" in traced.code


def traced_by_make_fx():
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(lambda x: x + torch.ones(2, device="cuda"))(torch.zeros(2, device="cuda"))
    assert graph(torch.zeros(2, device="cuda")).is_cuda


def fake():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode():
        x = torch.empty(2, 3, device="cuda")
        assert x.is_cuda and (x @ x.t()).device.type == "cuda"


def fake_of_a_real():
    from torch._subclasses.fake_tensor import FakeTensorMode

    with FakeTensorMode() as mode:
        assert mode.from_tensor(torch.zeros(2, device="cuda")).is_cuda


def vectorized_and_differentiated():
    x = torch.ones(3, 2, device="cuda")
    assert torch.vmap(torch.func.grad(lambda row: (row**2).sum()))(x).tolist() == [[2, 2]] * 3


def called_functionally():
    module = nn.Linear(2, 2).cuda()
    parameters = {name: value.detach().cuda() for name, value in module.named_parameters()}
    assert torch.func.functional_call(module, parameters, torch.ones(1, 2, device="cuda")).is_cuda


def seen_by_a_function_mode():
    from torch.overrides import TorchFunctionMode

    names = []

    class Names(TorchFunctionMode):
        def __torch_function__(self, function, types, args=(), kwargs=None):
            names.append(function.__name__)
            return function(*args, **(kwargs or {}))

    with Names():
        torch.zeros(2, device="cuda").cuda()
    assert names[:2] == ["zeros", "cuda"]


def seen_by_a_dispatch_mode():
    from torch.utils._python_dispatch import TorchDispatchMode

    names = []

    class Names(TorchDispatchMode):
        def __torch_dispatch__(self, function, types, args=(), kwargs=None):
            names.append(str(function))
            return function(*args, **(kwargs or {}))

    with Names():
        torch.ones(2, device="cuda") + 1
    assert "aten.add.Tensor" in names


EXPRESSIONS = {
    "compiled_on_a_device_tensor": lambda: (
        _compiled(lambda x: x * 2)(torch.ones(2, device="cuda")).tolist() == [2, 2]
    ),
    "compiled_ahead_of_time": lambda: (
        _compiled(lambda x: x * 2, "aot_eager")(torch.ones(2, device="cuda")).is_cuda
    ),
    "compiled_by_inductor": lambda: (
        _compiled(lambda x: (x * 2).relu(), "inductor")(torch.ones(2, device="cuda")).is_cuda
    ),
    "compiled_factory": lambda: (
        _compiled(lambda x: x + torch.ones(2, device="cuda"))(torch.ones(2, device="cuda")).is_cuda
    ),
    "compiled_move": lambda: _compiled(lambda x: x.cuda() + 1)(torch.ones(2)).is_cuda,
    "compiled_move_by_string": lambda: (
        _compiled(lambda x: x.to("cuda") + 1, "aot_eager")(torch.ones(2)).is_cuda
    ),
    "compiled_device": lambda: _compiled(lambda x: x.to(torch.device("cuda")))(torch.ones(2)).is_cuda,
    "compiled_question_of_availability": lambda: (
        _compiled(lambda x: x + 1 if torch.cuda.is_available() else x)(torch.ones(1)).item() == 2
    ),
    "compiled_question_of_the_current_device": lambda: (
        _compiled(lambda x: x + torch.cuda.current_device())(torch.ones(1, device="cuda")).item() == 1
    ),
    "compiled_question_of_the_count": lambda: (
        _compiled(lambda x: x + torch.cuda.device_count())(torch.ones(1)).item() >= 2
    ),
    "compiled_question_of_a_tensor": lambda: (
        _compiled(lambda x: x + 1 if x.is_cuda else x)(torch.ones(1, device="cuda")).item() == 2
    ),
}
