"""The driver's arrays, textures and surfaces in an extension."""

import torch

from tests.kernels.extensions.device.corpus import call

INVALID_VALUE, INVALID_HANDLE = 1, 400


def test_an_array_by_the_driver():
    texels = torch.arange(35, dtype=torch.uint8).view(5, 7) * 7
    reals, integers = torch.zeros(5, 6).cuda(), torch.zeros(5, 6).cuda()
    part = torch.zeros(4, 5, dtype=torch.uint8).cuda()
    assert call("driver_arrays", "round_trip", 6, 5, texels, 7, reals, integers, part) == 0
    held = texels[:, 1:]
    torch.testing.assert_close(reals.cpu(), held / 255)
    assert torch.equal(integers.cpu(), held.float())
    assert torch.equal(part.cpu(), held[1:, 1:] + 1)


def test_a_box_of_memory():
    source, to = (
        torch.arange(24, dtype=torch.uint8).view(4, 6).cuda(),
        torch.zeros(3, 8, dtype=torch.uint8).cuda(),
    )
    assert call("driver_arrays", "copy_box", 5, 3, source, 6, to, 8) == 0
    assert torch.equal(to[:, 1:6], source[1:, :5])
    assert to[:, 0].sum() + to[:, 6:].sum() == 0


def test_errors():
    assert call("driver_arrays", "wrong_array", 3) == INVALID_VALUE
    assert call("driver_arrays", "wrong_array", 4) == 0
    assert call("driver_arrays", "destroyed_twice") == INVALID_HANDLE


def test_an_error_of_the_driver_is_not_the_runtimes_last():
    before = call("driver_arrays", "last_of_the_runtime")
    assert call("driver_arrays", "destroyed_twice") == INVALID_HANDLE
    assert call("driver_arrays", "last_of_the_runtime") == before
