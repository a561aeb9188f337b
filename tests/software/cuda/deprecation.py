"""Tests of what torch will remove."""

import functools
import warnings


def ignoring_deprecation(test):
    """Ignores torch's warnings, of which some are about what it will remove, during a test."""

    @functools.wraps(test)
    def run(**arguments):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            test(**arguments)

    return run
