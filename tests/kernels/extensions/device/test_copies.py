"""Copies that end later: of cooperative groups, and in the stages of pipelines."""

import pytest
import torch

from tests.kernels.extensions.device.corpus import call


def integers(*shape):
    return torch.zeros(*shape, device="cuda", dtype=torch.int32)


def random(*shape):
    return torch.randint(-99, 99, shape, generator=torch.Generator().manual_seed(3)).int().cuda()


def test_copies_of_a_block_and_of_tiles():
    values, out = random(101), integers(101 + 48)
    call("copies", "launch_by_a_group", values, out, 101)
    tiles = values[:48].view(3, 16).roll(-1, 1).flatten()
    assert torch.equal(out, torch.cat([values.flip(0), tiles]))


def test_a_copy_that_is_on_its_way_while_another_is_used():
    values, out = random(64 * 4 + 1), integers(32)
    call("copies", "launch_in_turns", values, out, 64 * 4 + 1)
    place = torch.arange(64)
    rows = values.cpu()[:256].view(4, 64).long()
    expected = [int((rows[:, (place + i) % 64] * (place + 1)).sum()) for i in range(32)]
    last = torch.cat([values.cpu()[256:].long(), rows[2, 1:]])  # only its first place is new
    expected = [each + int(last[i]) for i, each in enumerate(expected)]
    assert out.tolist() == expected


def test_lanes_wait_for_their_copies_together():
    values, out = random(128), integers(128)
    call("copies", "launch_of_other_lanes", values, out)
    assert torch.equal(out, values.flip(0))


def test_a_pipeline_of_a_thread():
    values, out = random(5, 32, 4), integers(9, 32, 4)
    call("copies", "launch_of_a_thread", values, out, 5)
    flipped = values.flip(1)
    assert torch.equal(out, torch.cat([flipped, flipped[:4]]))


def sums(values):
    rows, place = torch.arange(values.shape[0])[:, None], torch.arange(64)
    return [int((values.cpu().long() * (rows + place % 3 + i)).sum()) for i in range(64)]


@pytest.mark.parametrize("function", ["launch_of_a_block", "launch_by_role"])
def test_a_pipeline_of_a_block(function):
    values, out = random(7, 64), integers(64)
    call("copies", function, values, out, 7)
    assert out.tolist() == sums(values)


def test_a_pipeline_whose_first_threads_produce():
    values, out, last = random(10, 64), integers(64), integers(1)
    call("copies", "launch_by_number", values, out, 10, last)
    assert out.tolist() == sums(values)
    assert last.item() == 1
