"""`torch.compile` on the software device: compiled code gives the results of eager code, in device memory."""

import copy
import itertools
import warnings

import pytest
import torch
import torch.nn.functional as F
from torch import nn

from tests import platforms
from tests.worker import Worker, Workers


@pytest.fixture(scope="module", params=platforms.chosen(["cpu"]))
def worker(
    request: pytest.FixtureRequest, worker_pool: Workers, tmp_path_factory: pytest.TempPathFactory
) -> Worker:
    """A process under morph with two software devices and an empty inductor cache."""
    remembered = str(tmp_path_factory.mktemp("inductor"))
    variables = {"TORCHINDUCTOR_CACHE_DIR": remembered}
    return worker_pool.on(platforms.platform(request.param, variables), morph=True)


@pytest.fixture(autouse=True)
def on_two_devices(worker: Worker) -> None:
    """Makes every test run in the worker."""


def compiled(function, **options):
    warnings.simplefilter("ignore")  # warnings of Dynamo and inductor about what they import and trace
    torch.compiler.reset()
    return torch.compile(function, fullgraph=True, **options)


@pytest.mark.long
def test_a_module_trains_as_one_that_runs():
    torch.manual_seed(0)
    model = nn.Sequential(
        nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.GELU(), nn.Flatten(), nn.Linear(64, 2)
    ).cuda()
    twin, images = copy.deepcopy(model), torch.randn(2, 3, 6, 6, device="cuda")
    with torch.autocast("cuda", dtype=torch.bfloat16):
        losses = [step(images).float().square().sum() for step in (compiled(model), twin)]
    for loss in losses:
        loss.backward()
    assert losses[0].device == torch.device("cuda:0")
    torch.testing.assert_close(losses[0], losses[1], rtol=2e-2, atol=2e-2)
    torch.testing.assert_close(dict(model.named_buffers()), dict(twin.named_buffers()), rtol=2e-2, atol=2e-2)
    for mine, its in zip(model.parameters(), twin.parameters(), strict=True):
        assert mine.grad.device == mine.device
        torch.testing.assert_close(mine.grad, its.grad, rtol=5e-2, atol=5e-2)


@pytest.mark.long
def test_dropout_draws_from_the_devices_generator():
    drop = compiled(lambda tensor: F.dropout(tensor.sin(), 0.5))
    ones, host = torch.ones(1000, device="cuda", requires_grad=True), torch.get_rng_state()

    def draw(seed):
        torch.cuda.manual_seed(seed)
        return [drop(ones), drop(ones)]

    first, second = draw(1)
    assert not torch.equal(first, second)
    assert all(map(torch.equal, draw(1), [first, second]))
    assert 400 < first.count_nonzero() < 600
    assert torch.equal(torch.get_rng_state(), host)
    first.sum().backward()
    assert torch.equal(ones.grad == 0, first == 0)


@pytest.mark.parametrize("dtype", [torch.half, torch.bfloat16, torch.float])
@pytest.mark.parametrize("dropout", [0.0, 0.5])
def test_attention_has_gradients(dtype, dropout):
    """Each dtype has a kernel of its own, whose results have the shapes that torch's meta kernels say."""
    torch.manual_seed(0)
    mine = [torch.randn(2, 4, 6, 8, device="cuda", dtype=dtype, requires_grad=True) for _ in range(3)]
    twins = [each.detach().clone().requires_grad_() for each in mine]

    def attend(query, key, value):
        return F.scaled_dot_product_attention(query, key, value, is_causal=True, dropout_p=dropout)

    for function, given in ((compiled(attend), mine), (attend, twins)):
        torch.cuda.manual_seed(3)
        function(*given).float().sin().sum().backward()
    for one, other in zip(mine, twins, strict=True):
        torch.testing.assert_close(one.grad, other.grad)


def test_what_is_written_in_place_moved_and_viewed():
    def body(mine, host):
        moved, back = host.cuda(), mine.cpu()
        mine.add_(1)
        host.add_(1)
        fresh = mine * 2
        return moved, back, mine[1:], fresh, fresh.view(-1)

    mine, host = torch.zeros(2, 3, device="cuda"), torch.zeros(2, 3)
    moved, back, rows, fresh, flat = compiled(body)(mine, host)
    assert [each.device.type for each in (moved, back, rows, fresh, flat)] == [
        "cuda",
        "cpu",
        "cuda",
        "cuda",
        "cuda",
    ]
    assert (moved.sum(), back.sum(), mine.sum(), host.sum(), fresh.sum()) == (0, 0, 6, 6, 12)
    mine.zero_()
    fresh.zero_()
    assert (rows.sum(), flat.sum()) == (0, 0)


def test_custom_operators_run_on_the_device():
    seen = []

    @torch.library.custom_op("morph_tests::only_cuda", mutates_args={"target"}, device_types="cuda")
    def only_cuda(target: torch.Tensor, source: torch.Tensor) -> torch.Tensor:
        seen.append((target.device, source.device))
        target.add_(source)
        return target + 1

    only_cuda.register_fake(lambda target, source: torch.empty_like(target))

    def body(target, source):
        return only_cuda(target, source * 2) * 3

    target = torch.zeros(2, device="cuda:1")
    assert compiled(body)(target, torch.ones(2, device="cuda:1")).tolist() == [9, 9]
    assert target.tolist() == [2, 2]
    assert seen[-1] == (torch.device("cuda:1"), torch.device("cuda:1"))


def test_an_operator_whose_schema_names_no_alias():
    library = torch.library.Library("morph_tests_unnamed", "FRAGMENT")
    library.define("double_into(Tensor! target, Tensor x, Tensor!? also=None) -> ()")

    def double_into(target, x, also=None):
        target.copy_(x * 2)

    library.impl("double_into", double_into, "CUDA")

    def double(x):
        target = torch.empty_like(x)
        torch.ops.morph_tests_unnamed.double_into(target, x + 1)
        return target + 1

    assert compiled(double)(torch.ones(3, device="cuda")).tolist() == [5, 5, 5]
    library._destroy()


def test_shapes_may_change_and_memory_is_the_devices():
    step = compiled(lambda tensor: torch.cat([tensor, tensor * 2]) + tensor.shape[0], dynamic=True)
    for rows in (2, 5, 1 << 12):
        ones = torch.ones(rows, 64, device="cuda:1")
        before = torch.cuda.memory_allocated(1)
        result = step(ones)
        assert torch.cuda.memory_allocated(1) - before == 2 * ones.nbytes
        assert result.device == ones.device
        assert (result[0, 0], result[-1, -1]) == (1 + rows, 2 + rows)
        del result
    torch.cuda.empty_cache()  # otherwise the memory of the last result would be reused
    torch.cuda.set_per_process_memory_fraction(1e-4, 1)
    try:
        with pytest.raises(torch.OutOfMemoryError, match="CUDA out of memory"):
            step(ones)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0, 1)


def test_devices_may_differ():
    def body(first, second):
        return first + second.to("cuda:0"), torch.rand(3, device="cuda:1")

    first, second = compiled(body)(torch.ones(3, device="cuda:0"), torch.ones(3, device="cuda:1"))
    assert (first.device.index, second.device.index, first.tolist()) == (0, 1, [2, 2, 2])


@pytest.mark.parametrize("backend", ["eager", "aot_eager"])
def test_other_backends(backend):
    model = nn.Linear(2, 2).cuda()
    step, ones = compiled(model, backend=backend), torch.ones(1, 2, device="cuda")
    for _ in range(3):
        model.zero_grad()
        step(ones).sum().backward()
    assert torch.equal(step(ones), model(ones))
    assert model.weight.grad.tolist() == [[1, 1], [1, 1]]


def test_a_graph_that_inductor_cannot_have_runs():
    from torch.nn.attention.flex_attention import flex_attention

    query, key, value = torch.randn(3, 1, 2, 16, 8, device="cuda").unbind()
    expected = F.scaled_dot_product_attention(query, key, value)
    torch.testing.assert_close(compiled(flex_attention)(query, key, value), expected, rtol=1e-4, atol=1e-5)


def test_a_type_that_inductor_has_no_word_for_on_the_cpu():
    scales = torch.tensor([0.5, 1, 8], device="cuda")
    exponents = compiled(lambda x: x.to(torch.float8_e8m0fnu).view(torch.uint8) + 1)(scales)
    assert exponents.tolist() == [127, 128, 131]


@pytest.mark.parametrize("transposed", [False, True])
@pytest.mark.parametrize("dimensions", [1, 2, 3])
def test_a_fake_convolution_has_the_strides_of_a_real_one(dimensions, transposed):
    from torch._subclasses.fake_tensor import FakeTensorMode

    convolve = getattr(F, f"conv_transpose{dimensions}d" if transposed else f"conv{dimensions}d")
    last = {2: torch.channels_last, 3: torch.channels_last_3d}.get(dimensions, torch.contiguous_format)
    image, weight = torch.randn(2, 3, *[8] * dimensions), torch.randn(3, 3, *[2] * dimensions)
    for formats in itertools.product((torch.contiguous_format, last), repeat=2):
        pair = [
            each.cuda().to(memory_format=format)
            for each, format in zip((image, weight), formats, strict=True)
        ]
        with FakeTensorMode() as mode:
            fake = convolve(*map(mode.from_tensor, pair))
        assert fake.stride() == convolve(*pair).stride()


def test_ahead_of_time_is_refused_by_name():
    warnings.simplefilter("ignore")
    graph = torch.fx.symbolic_trace(lambda tensor: (tensor + 1,))
    with pytest.raises(NotImplementedError, match="AOTInductor"):
        torch._inductor.aot_compile(graph, (torch.ones(2, device="cuda"),))


def test_products_are_not_padded_where_triton_is_there():
    from torch._inductor.fx_passes import pad_mm
    from torch.utils._triton import has_triton

    left, right = (torch.ones(size, dtype=torch.half, device="cuda") for size in ((1023, 1022), (1022, 1021)))
    assert has_triton()
    assert not pad_mm.can_pad(left, right, torch.ops.aten.mm)
