"""The command line of morph, in this process and on a terminal."""

import pytest

from morph.running.launcher.command import main


def status(*words: str) -> int:
    """Runs morph with the words of a command line, in this process, and returns its exit status."""
    with pytest.raises(SystemExit) as ended:
        main([*words])
    assert isinstance(ended.value.code, int)
    return ended.value.code
