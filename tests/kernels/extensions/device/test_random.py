"""cuRAND in kernels: its generators by their published definitions, and the distributions of its numbers."""

import pytest
import torch

from tests.kernels.extensions.device.corpus import call, library

WORD = 2**32
# Random123's known answers of philox4x32, ten rounds: counter, key, result
KNOWN = [
    ((0, 0, 0, 0), (0, 0), (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
    ((WORD - 1,) * 4, (WORD - 1,) * 2, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
    (
        (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
        (0xA4093822, 0x299F31D0),
        (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
    ),
]


def words(*shape):
    return torch.zeros(*shape, dtype=torch.uint32, device="cuda")


def drawn(name, seed, offset, n=12):
    out = words(4, n)
    call("random", f"draw_{name}", seed, offset, out, n)
    return out.tolist()


def xorwow(seed):
    """Yield the numbers of Marsaglia's recurrence from cuRAND's seeds."""
    low, high = 1099087573 * (seed ^ 0xAAD26B49), 2591861531 * 0xF7DCEFDD
    low, high = low % WORD, high % WORD
    v = [123456789 + low, 362436069 ^ low, 521288629 + high, 88675123 ^ high, 5783321 + low]
    v, d = [each % WORD for each in v], 6615241 + low + high
    while True:
        t = v[0] ^ v[0] >> 2
        v = [*v[1:], (v[4] ^ v[4] << 4 ^ t ^ t << 1) % WORD]
        d += 362437
        yield (v[4] + d) % WORD


def test_philox_gives_the_published_numbers():
    counters, keys = (torch.tensor([each[i] for each in KNOWN], dtype=torch.int64) for i in (0, 1))
    out = words(3, 4)
    call("random", "draw_block", counters.to(torch.uint32).cuda(), keys.to(torch.uint32).cuda(), out, 3)
    assert out.tolist() == [list(each[2]) for each in KNOWN]


@pytest.mark.parametrize("offset", [0, 1, 4, 1000003])
def test_philox_is_that_of_torchs_engine(offset):
    expected = drawn("torchs", 42, offset)
    assert drawn("philox", 42, offset) == expected
    assert drawn("fours", 42, offset) == expected
    assert len({number for row in expected for number in row}) == 48


@pytest.mark.parametrize("offset", [0, 777])
def test_xorwow_is_marsaglias_recurrence(offset):
    numbers = xorwow(42)
    expected = [next(numbers) for _ in range(offset + 12)][offset:]
    assert drawn("xorwow", 42, offset)[0] == expected


@pytest.mark.parametrize("offset", [0, 777])
def test_mrg32k3a_is_lecuyers_recurrence(offset):
    first, second = [12345] * 3, [12345] * 3
    numbers = []
    for _ in range(offset + 12):
        first = [*first[1:], (1403580 * first[1] - 810728 * first[0]) % 4294967087]
        second = [*second[1:], (527612 * second[2] - 1370589 * second[0]) % 4294944443]
        numbers.append(((first[2] - second[2]) % 4294967087 or 4294967087) * 1.000000048662)
    assert drawn("mrg32k3a", 0, offset)[0] == [int(each) for each in numbers[offset:]]


def test_a_subsequence_is_a_long_skip():
    out = words(6)
    call("random", "draw_skips", out)
    assert all(one == other for one, other in out.view(3, 2).tolist())


def assert_like(mean, variance, *found):
    for numbers in found:
        assert abs(float(numbers.mean()) - mean) < 5 * (variance / len(numbers)) ** 0.5
        assert float(numbers.var()) == pytest.approx(variance, rel=0.12)


@pytest.mark.parametrize("kind", [0, 1, 2], ids=["philox", "xorwow", "mrg32k3a"])
def test_distributions(kind):
    n = 4096
    floats = torch.zeros(3, n, device="cuda")
    doubles = torch.zeros(2, n, device="cuda", dtype=torch.float64)
    counts = torch.zeros(2, n, device="cuda", dtype=torch.int32)
    call("random", "draw_all", kind, *floats, *doubles, *counts, n)
    uniform, normal, log_normal = floats.double()
    assert_like(0.5, 1 / 12, uniform, doubles[0])
    assert_like(0, 1, normal, doubles[1])
    assert_like(0.5, 0.0625, log_normal.log())
    assert_like(3, 3, counts[0].double())
    assert_like(200, 200, counts[1].double())
    assert float(uniform.min()) > 0
    assert float(uniform.max()) <= 1


def units(n):
    """Return the numbers of subsequences of Philox as numbers from 0 to 1."""
    bits = torch.tensor(drawn("philox", 99, 0, n), dtype=torch.float64)
    return (bits * 2**-32 + 2**-33).cuda()


def normals(of):
    """Return pairs of normal numbers by the transform of Box and Muller."""
    size, turn = (-2 * of[:, ::2].log()).sqrt(), of[:, 1::2] * 2 * torch.pi
    return torch.stack([turn.sin() * size, turn.cos() * size], -1).flatten(1)


def test_vectors_are_of_the_same_numbers():
    out, unit = torch.zeros(16, 2, 4, device="cuda"), units(8)
    call("random", "draw_vectors", out)
    torch.testing.assert_close(out[:4, 0], unit[:, :4].float(), rtol=1e-7, atol=0)
    torch.testing.assert_close(out[:4, 1], normals(unit[:, 4:]).float(), rtol=1e-4, atol=1e-5)


def test_the_second_number_of_a_pair_is_of_its_distribution():
    out = torch.zeros(4, 4, device="cuda")
    call("random", "draw_alternating", out)
    first, _, second, other, third, _ = normals(units(6)).unbind(1)
    expected = torch.stack([first, second.exp(), other.exp(), third], 1)
    torch.testing.assert_close(out, expected.float(), rtol=1e-4, atol=1e-5)


def test_the_hosts_functions():
    n = 4096
    results = []
    for seed in (5, 5, 6):
        uniform, normal = torch.zeros(2, n, device="cuda")
        wide, bits = torch.zeros(n, device="cuda", dtype=torch.float64), words(n)
        counts = torch.zeros(n, device="cuda", dtype=torch.int32)
        call("random", "generate", seed, 3, uniform, normal, wide, bits, counts, n)
        results.append([uniform, normal, wide, bits.view(torch.int32), counts])
    assert all(map(torch.equal, results[0], results[1]))
    assert not any(map(torch.equal, results[0], results[2]))
    uniform, normal, wide, bits, counts = results[0]
    assert bits.view(torch.uint32)[:12].tolist() == drawn("philox", 5, 3)[0]
    means = [float(each.double().mean()) for each in (uniform, normal, wide, counts)]
    assert means == pytest.approx([0.5, 2, 0.5, 10], rel=0.03)
    assert float(normal.std()) == pytest.approx(0.5, rel=0.05)


def test_a_quasi_random_generator_is_refused():
    assert library("random").generate_quasi() == 103  # CURAND_STATUS_TYPE_ERROR
