"""Mixing tensors of several devices raises CUDA's error, except for scalars and indices on the host."""

import pytest
import torch
import torch.nn.functional as F

SAME = "Expected all tensors to be on the same device"
HERE = "cuda:0"
OPERATORS = {
    "add": lambda a, b: a + b,
    "in place": lambda a, b: a.add_(b),
    "compare": lambda a, b: a == b,
    "equal": lambda a, b: torch.equal(a, b),
    "maximum": lambda a, b: torch.maximum(a, b),
    "addcmul": lambda a, b: torch.addcmul(a, a, b),
    "lerp": lambda a, b: torch.lerp(a, b, 0.5),
    "where": lambda a, b: torch.where(a > 0, a, b),
    "condition": lambda a, b: torch.where(b > 0, a, a),
    "cat": lambda a, b: torch.cat([a, b]),
    "stack": lambda a, b: torch.stack([a, b]),
    "mm": lambda a, b: a @ b,
    "bmm": lambda a, b: torch.bmm(a[None], b[None]),
    "addmm": lambda a, b: torch.addmm(a, a, b),
    "einsum": lambda a, b: torch.einsum("ij,jk", a, b),
    "linear": lambda a, b: F.linear(a, b),
    "solve": lambda a, b: torch.linalg.solve(a, b),
    "embedding": lambda a, b: F.embedding(b.long(), a),
    "gather": lambda a, b: a.gather(0, b.long()),
    "scatter": lambda a, b: a.scatter(0, b.long(), a),
    "index_select": lambda a, b: a.index_select(0, b[0].long()),
    "index_add": lambda a, b: a.index_add(0, torch.tensor([0, 1], device=HERE), b),
    "take": lambda a, b: torch.take(a, b.long()),
    "masked_fill": lambda a, b: a.masked_fill(b > 0, 1.0),
    "masked_select": lambda a, b: a.masked_select(b > 0),
    "values to put": lambda a, b: a.index_put((torch.tensor([0, 1], device=HERE),), b),
    "out": lambda a, b: torch.add(a, a, out=b),
    "out of mm": lambda a, b: torch.mm(a, a, out=b),
    "mse_loss": lambda a, b: F.mse_loss(a, b),
    "cross_entropy": lambda a, b: F.cross_entropy(a, b[0].long()),
    "layer_norm": lambda a, b: F.layer_norm(a, (2,), b[0]),
    "batch_norm": lambda a, b: F.batch_norm(a, b[0], b[0]),
    "grid_sample": lambda a, b: F.grid_sample(a[None, None], b.expand(1, 2, 2, 2), align_corners=True),
    "searchsorted": lambda a, b: torch.searchsorted(a, b),
    "foreach": lambda a, b: torch._foreach_add([a], [b]),
}


@pytest.mark.parametrize("other", ["cpu", "cuda:1"])
@pytest.mark.parametrize("name", OPERATORS)
def test_two_devices_do_not_meet(name, other):
    with pytest.raises(RuntimeError, match=SAME):
        OPERATORS[name](torch.ones(2, 2, device=HERE), torch.ones(2, 2, device=other))


ALL_ON_ONE_DEVICE = {
    "clamp": lambda a, number: a.clamp(number, number),
    "clamp in place": lambda a, number: a.clamp_(min=number),
    "logaddexp": lambda a, number: torch.logaddexp(a, number),
    "nextafter": lambda a, number: torch.nextafter(a, number),
    "gather": lambda a, number: a[0].gather(0, number.long()),
    "index_select": lambda a, number: a.index_select(0, number.long()),
    "isin": lambda a, number: torch.isin(a, number),
    "bucketize": lambda a, number: torch.bucketize(number, a[0]),
    "embedding": lambda a, number: F.embedding(number.long(), a),
    "cat": lambda a, number: torch.stack([a[0, 0], number]),
    "addmm": lambda a, number: torch.addmm(number, a, a),
    "addmv": lambda a, number: torch.addmv(number, a, a[0]),
    "baddbmm": lambda a, number: torch.baddbmm(number, a[None], a[None]),
    "addcdiv": lambda a, number: torch.addcdiv(a, a, number),
}


@pytest.mark.parametrize("name", ALL_ON_ONE_DEVICE)
def test_some_operators_take_no_number_of_the_host(name):
    ALL_ON_ONE_DEVICE[name](torch.ones(2, 2, device=HERE), torch.tensor(1.0, device=HERE))
    with pytest.raises(RuntimeError, match=SAME):
        ALL_ON_ONE_DEVICE[name](torch.ones(2, 2, device=HERE), torch.tensor(1.0))


def test_lists_take_their_numbers_from_the_host():
    lists = [[torch.full((2,), value, device=HERE) for value in (1.0, 2.0)] for _ in range(3)]
    numbers = torch.tensor([3.0, 4.0])
    assert [each.tolist() for each in torch._foreach_addcdiv(*lists, numbers)] == [[4, 4], [6, 6]]
    with pytest.raises(RuntimeError, match="Expected scalars to be on CPU, got cuda:0 instead"):
        torch._foreach_addcmul(*lists, numbers.to(HERE))
    torch._foreach_addcmul_(*lists, numbers)
    assert [each.tolist() for each in lists[0]] == [[4, 4], [18, 18]]


def test_numbers_of_the_host_meet_any_device():
    a, number = torch.ones(2, 2, device=HERE), torch.tensor(2.0)
    for result in (
        a + number,
        number - a,
        torch.where(a > 0, a, number),
        a.masked_fill(a > 0, number),
        torch.pow(a, number),
        a.clone().fill_(number),
        a.clone().add_(number),
        a.index_put((torch.tensor([0]),), number),
    ):
        assert result.device == a.device
    a[torch.tensor([0, 1])] = number
    assert a.tolist() == [[2, 2], [2, 2]]
    with pytest.raises(RuntimeError):
        number.add_(a[0, 0])


def test_generators_belong_to_their_device():
    of_host, of_device = torch.Generator(), torch.Generator("cuda")
    for draw in (
        lambda: torch.randn(2, device="cuda", generator=of_host),
        lambda: torch.ones(2, device="cuda").uniform_(generator=of_host),
        lambda: torch.multinomial(torch.ones(2, device="cuda"), 1, generator=of_host),
        lambda: torch.randperm(4, device="cuda", generator=of_host),
    ):
        with pytest.raises(RuntimeError, match="Expected a 'cuda' device type for generator but found 'cpu'"):
            draw()
    for draw in (
        lambda: torch.randn(2, generator=of_device),
        lambda: torch.ones(2).uniform_(generator=of_device),
        lambda: torch.bernoulli(torch.ones(2), generator=of_device),
        lambda: torch.randperm(4, generator=of_device),
    ):
        with pytest.raises(RuntimeError, match="Expected a 'cpu' device type for generator but found 'cuda'"):
            draw()


def test_a_permutation_of_no_numbers_takes_any_generator():
    assert torch.randperm(0, device="cuda", generator=torch.Generator()).is_cuda
    assert torch.randperm(0, generator=torch.Generator("cuda")).is_cpu


def test_the_hosts_generator_stays_as_it_is():
    state = torch.get_rng_state()
    torch.randn(5, device="cuda")
    torch.randperm(10, device="cuda")
    torch.ones(3, device="cuda").bernoulli_(0.5)
    F.dropout(torch.ones(9, device="cuda"))
    F.rrelu(torch.ones(9, device="cuda"), training=True)
    assert torch.equal(state, torch.get_rng_state())


def test_operators_of_the_hosts_alone_are_refused_by_name():
    with torch.library._scoped_library("semantics_test", "DEF") as library:
        library.define("twice(Tensor x) -> Tensor")
        library.impl("twice", lambda x: x * 2, "CPU")
        with pytest.raises(
            NotImplementedError, match="Could not run 'semantics_test::twice'.*'CUDA' backend"
        ):
            torch.ops.semantics_test.twice(torch.ones(1, device="cuda"))
        library.impl("twice", lambda x: x * 2, "CUDA")
        assert torch.ops.semantics_test.twice(torch.ones(1, device="cuda")).tolist() == [2]


@pytest.mark.parametrize("operator", [torch.gcd, torch.bitwise_and, torch.heaviside])
def test_operators_without_kernels_of_their_own_look_at_devices(operator):
    first, second = (torch.tensor([6, 4], device="cuda:1") for _ in range(2))
    assert operator(first, second).device == torch.device("cuda:1")
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        operator(first, second.to("cuda:0"))


def test_lists_of_tensors_on_several_devices_are_worked_on_one_by_one():
    host, there = torch.ones(2), torch.full((2,), 4.0, device=HERE)
    torch._foreach_copy_([host], [there])  # as FSDP's ShardedGradScaler copies what overflowed
    assert host.tolist() == [4, 4]
    roots = torch._foreach_sqrt([host, there])
    assert [root.device.type for root in roots] == ["cpu", "cuda"]
    assert [root.tolist() for root in roots] == [[2, 2], [2, 2]]
    torch._foreach_mul_([host, there], 2.0)
    assert host.tolist() == there.tolist() == [8, 8]
