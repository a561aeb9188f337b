"""cuFFT in an extension, compared with torch: neither direction is divided by the number of values."""

import pytest
import torch

from tests.kernels.extensions.device.corpus import call

FORWARD, INVERSE = -1, 1


@pytest.mark.parametrize("direction", [FORWARD, INVERSE])
def test_lines(direction):
    x = torch.randn(3, 12, dtype=torch.complex64).cuda()
    expected = torch.fft.fft(x) if direction == FORWARD else torch.fft.ifft(x, norm="forward")
    out = torch.zeros_like(x)
    assert call("fft", "lines", 12, 3, direction, x, out) == 0
    torch.testing.assert_close(out, expected)
    assert call("fft", "lines", 12, 3, direction, x, x) == 0
    torch.testing.assert_close(x, expected)


@pytest.mark.parametrize("direction", [FORWARD, INVERSE])
def test_wide_planes(direction):
    x = torch.randn(6, 10, dtype=torch.complex128).cuda()
    out = torch.zeros_like(x)
    assert call("fft", "wide_planes", 6, 10, direction, x, out) == 0
    expected = torch.fft.fft2(x) if direction == FORWARD else torch.fft.ifft2(x, norm="forward")
    torch.testing.assert_close(out, expected)


@pytest.mark.parametrize("last", [8, 7])
def test_real_numbers_there_and_back(last):
    x = torch.randn(4, 6, last).cuda()
    out, again = torch.zeros(4, 6, last // 2 + 1, dtype=torch.complex64).cuda(), torch.zeros_like(x)
    assert call("fft", "there", 4, 6, last, x, out) == 0
    torch.testing.assert_close(out, torch.fft.rfftn(x))
    assert call("fft", "back", 4, 6, last, out, again) == 0
    torch.testing.assert_close(again, x * x.numel(), rtol=1e-5, atol=1e-3)


def test_real_numbers_in_place():
    x = torch.zeros(4, 6, 10).cuda()
    numbers = x[..., :8].normal_().clone()
    assert call("fft", "there", 4, 6, 8, x, x) == 0
    torch.testing.assert_close(torch.view_as_complex(x.view(4, 6, 5, 2)), torch.fft.rfftn(numbers))
    assert call("fft", "back", 4, 6, 8, x, x) == 0
    torch.testing.assert_close(x[..., :8], numbers * numbers.numel(), rtol=1e-5, atol=1e-3)


def test_strides():
    whole = torch.randn(2, 7, 9, 3, dtype=torch.float64).cuda()
    x, again = whole[:, :5, :8, 0], torch.zeros_like(whole)
    out = torch.zeros(2, 5, 5, dtype=torch.complex128).cuda()
    assert call("fft", "strided", 5, 8, 7, 9, 3, 2, whole, out, again) == 0
    torch.testing.assert_close(out, torch.fft.rfft2(x))
    torch.testing.assert_close(again[:, :5, :8, 0], x * 40)
    again[:, :5, :8, 0] = 0
    assert not again.any()


def test_errors():
    assert call("fft", "wrong_type", torch.zeros(8, dtype=torch.complex64).cuda()) == 3  # CUFFT_INVALID_TYPE
    assert call("fft", "lines", 0, 1, FORWARD, torch.zeros(1), torch.zeros(1)) == 8  # CUFFT_INVALID_SIZE
