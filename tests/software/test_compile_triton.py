"""`torch.compile` with MORPH_INDUCTOR=triton: inductor's kernels for GPUs run, with eager code's results."""

import copy
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests import platforms
from tests.platforms import Platform
from tests.worker import Worker, Workers


@pytest.fixture(scope="module", params=platforms.chosen(["cpu"]))
def worker(
    request: pytest.FixtureRequest, worker_pool: Workers, tmp_path_factory: pytest.TempPathFactory
) -> Worker:
    """A process under morph whose inductor generates kernels in Triton, with an empty cache."""
    remembered = str(tmp_path_factory.mktemp("inductor"))
    variables = {"MORPH_INDUCTOR": "triton", "TORCHINDUCTOR_CACHE_DIR": remembered}
    return worker_pool.on(platforms.platform(request.param, variables), morph=True)


@pytest.fixture
def on_device(worker: Worker) -> None:
    """Makes a test run in the worker."""


pytest.importorskip("triton")


def compiled(function, **options):
    warnings.simplefilter("ignore")  # warnings of Dynamo and inductor about what they import and trace
    torch.compiler.reset()
    return torch.compile(function, fullgraph=True, **options)


def code_of(step, *arguments):
    """Return what a compiled function returns, and its code; a backward pass is made if there is one."""
    from torch._inductor.utils import run_and_get_code

    def call():
        results = step(*arguments)
        if getattr(results, "requires_grad", False):
            results.sum().backward()
        return results

    results, code = run_and_get_code(call)
    return results, "\n".join(code)


def random(*shape, **options):
    return torch.randn(*shape, device="cuda", **options)


def softmax_of_normalised(rows):
    return F.layer_norm(rows, rows.shape[-1:]).softmax(-1)


PROGRAMS = {
    "triton_poi": lambda x: torch.where(x > 0, x.sin() * 2, x.exp()) + x.T.contiguous().T,
    "triton_red": lambda x: (x.reshape(1, -1).repeat(1, 3).sum(1), x.abs().amax()),
    "triton_per": softmax_of_normalised,
}


@pytest.mark.usefixtures("on_device")
@pytest.mark.parametrize("kind", PROGRAMS)
@pytest.mark.parametrize("dtype", [torch.float, torch.bfloat16])
def test_kernels_of_each_kind(kind, dtype):
    torch.manual_seed(0)
    rows = random(70, 90, dtype=dtype)
    results, code = code_of(compiled(PROGRAMS[kind]), rows)
    assert "@triton.jit" in code
    assert kind in code
    assert "cpp_fused" not in code
    bounds = {"rtol": 2e-2, "atol": 1} if dtype is torch.bfloat16 else {"rtol": 1e-5, "atol": 1e-4}
    torch.testing.assert_close(results, PROGRAMS[kind](rows), **bounds)


@pytest.mark.usefixtures("on_device")
def test_a_step_of_training():
    torch.manual_seed(0)
    model = nn.Sequential(nn.Linear(40, 64), nn.GELU(), nn.LayerNorm(64), nn.Linear(64, 7)).cuda()
    twin, rows, classes = copy.deepcopy(model), random(33, 40), torch.arange(33, device="cuda") % 7
    loss, code = code_of(compiled(lambda: F.cross_entropy(model(rows), classes)))
    expected = F.cross_entropy(twin(rows), classes)
    expected.backward()
    assert code.count("def call(self, args)") == 2
    assert "extern_kernels.mm" in code
    assert "triton_per" in code
    torch.testing.assert_close(loss, expected)
    for mine, its in zip(model.parameters(), twin.parameters(), strict=True):
        torch.testing.assert_close(mine.grad, its.grad, rtol=1e-4, atol=1e-5)


@pytest.mark.usefixtures("on_device")
def test_dropout_draws_by_philox():
    drop = compiled(lambda tensor: F.dropout(tensor * 3, 0.25))
    ones = torch.ones(1000, device="cuda", requires_grad=True)
    torch.cuda.manual_seed(1)
    first, code = code_of(drop, ones)
    assert "load_seed_offset" in code
    assert 650 < first.count_nonzero() < 850
    assert set(first.tolist()) == {0, 4}
    assert torch.equal(ones.grad, first)
    torch.cuda.manual_seed(1)
    assert torch.equal(drop(ones), first)
    assert not torch.equal(drop(ones), first)


@pytest.mark.usefixtures("on_device")
def test_shapes_may_change_and_memory_is_the_devices():
    step = compiled(lambda x: (x * x.shape[0]).softmax(0).cumsum(1), dynamic=True)
    assert "ks0" in code_of(step, random(5, 9))[1]
    for shape in ((2, 3), (700, 30)):
        rows = torch.randn(*shape, device="cuda:0")
        before = torch.cuda.memory_allocated()
        result = step(rows)
        assert torch.cuda.memory_allocated() - before == (rows.nbytes + 511) // 512 * 512
        torch.testing.assert_close(result, (rows * shape[0]).softmax(0).cumsum(1))
        del result


@pytest.mark.usefixtures("on_device")
def test_graphs_of_launches():
    from torch._inductor.cudagraph_trees import get_manager

    weight = random(16, 8)
    step = compiled(lambda x: (F.gelu(x @ weight).sum(0), F.dropout(x, 0.5)), mode="reduce-overhead")
    dropped = []
    for _ in range(5):
        x = random(32, 16)
        result, zeros = step(x)
        torch.testing.assert_close(result, F.gelu(x @ weight).sum(0), rtol=1e-4, atol=1e-4)
        dropped.append((zeros == 0).cpu())
    assert not torch.equal(dropped[-1], dropped[-2])
    assert get_manager(0).new_graph_id().id == 1


@pytest.mark.usefixtures("on_device")
def test_a_product_on_another_device():
    left, right = random(30, 40).to("cuda:1"), random(40, 50).to("cuda:1")
    step = compiled(lambda a, b: (a @ b).relu() + a.sum(), mode="reduce-overhead")
    result, code = code_of(step, left, right)
    assert "extern_kernels.mm" in code
    assert "triton_" in code
    assert result.device == torch.device("cuda:1")
    torch.testing.assert_close(result, (left @ right).relu() + left.sum(), rtol=1e-4, atol=1e-4)


@pytest.mark.usefixtures("on_device")
def test_attention_by_a_template():
    from torch.nn.attention.flex_attention import flex_attention

    query, key, value = random(3, 1, 2, 128, 16).unbind()
    result, code = code_of(compiled(flex_attention), query, key, value)
    assert "tl.dot" in code
    torch.testing.assert_close(
        result, F.scaled_dot_product_attention(query, key, value), rtol=1e-3, atol=1e-3
    )


@pytest.mark.usefixtures("on_device")
def test_ahead_of_time_is_refused_by_name():
    warnings.simplefilter("ignore")
    graph = torch.fx.symbolic_trace(lambda tensor: (tensor + 1,))
    with pytest.raises(NotImplementedError, match="AOTInductor"):
        torch._inductor.aot_compile(graph, (torch.ones(2, device="cuda"),))


REMEMBERED = """
import torch
from torch._dynamo.utils import counters
torch.compile(lambda tensor: tensor + 1)(torch.zeros(3, device="cuda"))
print(counters["inductor"]["fxgraph_cache_hit"])
"""


@pytest.mark.long
@pytest.mark.platforms("cpu")
def test_caches_tell_it_apart(platform: Platform, tmp_path) -> None:
    chosen = {"TORCHINDUCTOR_CACHE_DIR": str(tmp_path)}
    hits = [
        platform.run(REMEMBERED, environment={**chosen, "MORPH_INDUCTOR": each}).stdout.strip()
        for each in ("triton", "cpp", "triton")
    ]
    assert hits == ["0", "0", "1"]


@pytest.mark.platforms("cpu")
def test_another_language_is_refused(platform: Platform) -> None:
    done = platform.run("import torch", environment={"MORPH_INDUCTOR": "halide"}, check=False)
    assert done.returncode
    assert "morph: MORPH_INDUCTOR: inductor generates cpp or triton here, not 'halide'\n" in done.stderr
    assert "Traceback" not in done.stderr
