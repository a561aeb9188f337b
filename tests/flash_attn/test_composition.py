"""Attention inside torch's wrappers: checkpoints, fake tensors, compilers, data-parallel replicas."""

import contextlib
import functools
import importlib
import warnings
from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.utils.checkpoint import CheckpointPolicy, checkpoint, create_selective_checkpoint_contexts

from tests.flash_attn.reference import check_options, detached, integers, tensors
from tests.later import Later

flash_attn_interface = Later("flash_attn_interface")
flash_attn_func = Later("flash_attn", "flash_attn_func")
flash_attn_kvpacked_func = Later("flash_attn", "flash_attn_kvpacked_func")
flash_attn_varlen_func = Later("flash_attn", "flash_attn_varlen_func")
flash_attn_4_func = Later("flash_attn.cute", "flash_attn_func")


SHAPES = ((2, 9, 4, 32), (2, 9, 2, 32), (2, 9, 2, 32))
OPTIONS: tuple[dict[str, Any], ...] = ({"causal": True}, {"window_size": (3, 0)}, {"dropout_p": 0.3})


def gradients(out: Tensor, inputs: list[Tensor]) -> tuple[Tensor, ...]:
    return torch.autograd.grad(out.float().square().sum(), inputs)


@pytest.mark.long
@pytest.mark.platforms("cpu", "npu")
@pytest.mark.parametrize("reentrant", [False, True])
def test_checkpoints_recompute_the_same(reentrant):
    inputs = tensors(0, *SHAPES, dtype=torch.bfloat16)
    for options in OPTIONS:
        attend = functools.partial(flash_attn_func, **options)
        results = []
        for function in (attend, functools.partial(checkpoint, attend, use_reentrant=reentrant)):
            torch.cuda.manual_seed(5)
            copies = [each.detach().requires_grad_() for each in inputs]
            function(*copies).float().square().sum().backward()
            results.append([each.grad for each in copies])
        assert all(map(torch.equal, *results))


@pytest.mark.long_on("npu")
@pytest.mark.platforms("cpu", "npu")
def test_a_selective_checkpoint_sees_the_operator():
    importlib.import_module("flash_attn")  # which defines the operator
    own, seen = torch.ops.flash_attn._flash_attn_forward.default, []

    def policy(context: Any, operator: Any, *args: Any, **kwargs: Any) -> CheckpointPolicy:
        seen.append((operator, context.is_recompute))
        return CheckpointPolicy.MUST_SAVE if operator is own else CheckpointPolicy.PREFER_RECOMPUTE

    contexts = functools.partial(create_selective_checkpoint_contexts, policy)
    inputs = tensors(0, *SHAPES, dtype=torch.bfloat16)

    def doubled(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        return flash_attn_func(q * 2, k, v, causal=True)

    out = checkpoint(doubled, *inputs, use_reentrant=False, context_fn=contexts)
    q, k, v = inputs
    expected, *_ = flash_attn_func(q * 2, k, v, causal=True, return_attn_probs=True)
    assert torch.equal(out, expected)
    assert all(map(torch.equal, gradients(out, inputs), gradients(expected, inputs)))
    assert (own, False) in seen


@pytest.mark.platforms("cpu", "npu")
def test_fake_tensors():
    from torch._subclasses import FakeTensorMode

    with FakeTensorMode():
        q, k, v = (torch.empty(*shape, device="cuda").half().requires_grad_() for shape in SHAPES)
        bounds = torch.empty(3, dtype=torch.int32, device="cuda")
        packed = flash_attn_varlen_func(*(x.flatten(0, 1) for x in (q, k, v)), bounds, bounds, 9, 9)
        dense = flash_attn_func(q, k, v), flash_attn_interface.flash_attn_func(q, k, v)
        for out in (*dense, flash_attn_4_func(q, k, v)[0], packed.view(q.shape)):
            assert (out.shape, out.dtype, out.device) == (q.shape, q.dtype, q.device)
            assert [each.shape for each in gradients(out, [q, k, v])] == list(SHAPES)
        assert flash_attn_func(q, k, v, return_attn_probs=True)[1].shape == (2, 4, 9)


class Layer(nn.Module):
    """Attention with the parts of flash_attn that surround it in models."""

    def __init__(self) -> None:
        from flash_attn.layers.rotary import RotaryEmbedding
        from flash_attn.ops.triton.layer_norm import RMSNorm

        super().__init__()
        self.norm = RMSNorm(64, device="cuda")
        self.projection = nn.Linear(64, 192, device="cuda")
        self.rotary = RotaryEmbedding(16, device="cuda")

    def forward(self, x: Tensor) -> Tensor:
        from flash_attn import flash_attn_qkvpacked_func

        qkv = self.projection(self.norm(x)).view(*x.shape[:2], 3, 2, 32)
        return x + flash_attn_qkvpacked_func(self.rotary(qkv), causal=True, window_size=(4, 0)).flatten(2)


def compiles_whole(call: Any, *inputs: Tensor) -> None:
    """Checks that Dynamo and AOTAutograd trace a call and its gradients without a graph break."""
    # Dynamo instantiates torch.autograd.Function
    warnings.filterwarnings("ignore", "(?s).*should not be instantiated", DeprecationWarning)

    def work(function: Any) -> list[Tensor]:
        result = function(*inputs)
        out = result if isinstance(result, Tensor) else result[0]
        return [out, *gradients(out, list(inputs))]

    compiled = torch.compile(call, backend="aot_eager", fullgraph=True)
    assert all(map(torch.equal, work(call), work(compiled)))


@pytest.mark.long
@pytest.mark.platforms("cpu")
def test_a_model_compiles_whole():
    compiles_whole(Layer().bfloat16(), *tensors(0, (2, 12, 64), dtype=torch.bfloat16))


@pytest.mark.platforms("cpu")
@pytest.mark.parametrize("module", ["flash_attn", "flash_attn_interface", "flash_attn.cute"])
def test_a_function_compiles_whole(module):
    function = importlib.import_module(module).flash_attn_func
    inputs = tensors(0, *SHAPES, dtype=torch.bfloat16)
    compiles_whole(functools.partial(function, causal=True), *inputs)
    if module == "flash_attn":
        compiles_whole(lambda q, k: function(q, k, k), *inputs[:2])


@pytest.mark.long
@pytest.mark.platforms("cpu", "npu")
def test_every_form_compiles_whole():
    from flash_attn import flash_attn_func, flash_attn_qkvpacked_func, flash_attn_varlen_func

    bounds = integers(0, 4, 10)
    for call in (
        lambda q, k, v: flash_attn_func(q, k, v, causal=True, window_size=(3, 0)),
        lambda q, k, v: flash_attn_qkvpacked_func(torch.stack([q, k, v], 2), causal=True),
        lambda q, k, v: flash_attn_varlen_func(q[0], k[0], v[0], bounds, bounds, 6, 6, causal=True),
    ):
        compiles_whole(call, *tensors(0, *((2, 10, 2, 20),) * 3, dtype=torch.bfloat16))


@pytest.mark.platforms("cpu")
def test_an_exported_program_has_the_operator():
    class Attention(nn.Module):
        def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
            from flash_attn import flash_attn_func

            return flash_attn_func(q, k, v, causal=True)

    inputs = tuple(detached(0, *SHAPES, dtype=torch.bfloat16))
    program = torch.export.export(Attention(), inputs)
    own = torch.ops.flash_attn._flash_attn_forward.default
    assert own in [node.target for node in program.graph.nodes]
    assert torch.equal(program.module()(*inputs), Attention()(*inputs))


@contextlib.contextmanager
def process_group(folder: Any) -> Iterator[None]:
    import torch.distributed as dist

    dist.init_process_group("gloo", init_method=f"file://{folder}/store", rank=0, world_size=1)
    yield
    dist.destroy_process_group()


@pytest.mark.platforms("cpu")
def test_one_layer_twice_in_a_replica(tmp_path):
    model = Layer().bfloat16()
    (x,) = tensors(0, (2, 7, 64), dtype=torch.bfloat16)
    expected = torch.autograd.grad(model(model(x)).float().sum(), list(model.parameters()))
    with process_group(tmp_path):
        twice = nn.parallel.DistributedDataParallel(nn.Sequential(model, model))
        twice(x).float().sum().backward()
        del twice  # before its process group is destroyed
    assert all(map(torch.equal, [each.grad for each in model.parameters()], expected))


@pytest.mark.platforms("cpu")
def test_plain_calls_are_what_calls_that_return_the_sums_are():
    """Both give the same, though the device's kernel may compute plain calls with its own gradients."""
    for dtype in (torch.bfloat16, torch.float16):
        q, k, v = inputs = tensors(0, *SHAPES, dtype=dtype)
        for causal in (False, True):
            out, *_ = flash_attn_func(q, k, v, causal=causal, return_attn_probs=True)
            expected = [out, *gradients(out, inputs)]
            plain = flash_attn_func(q, k, v, causal=causal)
            packed = flash_attn_kvpacked_func(q, torch.stack([k, v], 2), causal=causal)
            for each in (plain, packed):
                assert all(map(torch.equal, [each, *gradients(each, inputs)], expected))


@pytest.mark.platforms("cpu")
def test_torchs_attention_where_it_has_a_fused_kernel():
    """Accelerators without their own operators use it for plain calls; tested here on the CPU."""
    from torch.nn.attention import SDPBackend, sdpa_kernel

    from morph.aliases.attention import torchs

    inputs = [x.detach().cpu().requires_grad_() for x in tensors(0, *SHAPES, dtype=torch.bfloat16)]
    for causal in (False, True):
        check_options(
            lambda q, k, v, **options: torchs.direct(q, k, v, *options.values()),
            inputs,
            softmax_scale=0.2,
            causal=causal,
        )
    q, k, v = inputs
    with sdpa_kernel(SDPBackend.MATH):
        assert torchs.direct(q, k, v, 0.2, False) is None
    with torch.autocast("cpu"):
        assert torchs.direct(q, k, v, 0.2, False) is None
