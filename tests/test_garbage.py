"""Blocks in which only young garbage is collected."""

import gc
from collections.abc import Iterator

import pytest

from morph.base import garbage

FEW = (700, 10, 10)


@pytest.fixture(autouse=True)
def thresholds() -> Iterator[None]:
    before = gc.get_threshold()
    gc.set_threshold(*FEW)
    yield
    gc.set_threshold(*before)
    gc.enable()


def test_young_garbage_is_collected_in_the_block_and_old_objects_are_not_visited() -> None:
    gc.collect()
    before = [each["collections"] for each in gc.get_stats()]
    with garbage.only_young():
        kept = [[] for _ in range(100_000)]
    after = [each["collections"] for each in gc.get_stats()]
    assert after[0] > before[0]
    assert after[1:] == before[1:]
    assert len(kept) == 100_000


def test_objects_of_the_block_are_old_at_its_end() -> None:
    with garbage.only_young():
        kept = [[]]
    assert not any(each is kept for generation in (0, 1) for each in gc.get_objects(generation))
    assert any(each is kept for each in gc.get_objects(2))


def test_thresholds_return_even_after_an_exception() -> None:
    with pytest.raises(ValueError, match="of the block"), garbage.only_young():
        raise ValueError("of the block")
    assert gc.get_threshold() == FEW


def test_a_program_that_has_switched_collection_off_keeps_its_generations() -> None:
    gc.disable()
    with garbage.only_young():
        kept = [[]]
        assert gc.get_threshold() == FEW
    assert not gc.isenabled()
    assert any(each is kept for each in gc.get_objects(0))


def test_frozen_objects_stay_frozen() -> None:
    gc.freeze()
    try:
        frozen = gc.get_freeze_count()
        with garbage.only_young():
            pass
        assert gc.get_freeze_count() >= frozen - 100  # some may have been freed since
    finally:
        gc.unfreeze()
