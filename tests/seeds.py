"""The seeds of random tests: a small sample, or those that `MORPH_TEST_SEEDS` chooses."""

import os

CHOICE = "MORPH_TEST_SEEDS"


def seeds(sample: int) -> range:
    """Returns the seeds below ``sample``, or from A to before B if `MORPH_TEST_SEEDS` says `A:B`."""
    first, _, end = os.environ.get(CHOICE, f"0:{sample}").partition(":")
    return range(int(first), int(end))
