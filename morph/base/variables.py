# don't import any costly modules: most Pythons under morph reach this one
"""The environment variables that morph reads, unless the interpreter ignores its environment."""

import os
import sys

from morph import has_other_rights

BACKEND = "MORPH_BACKEND"
CARRIED = "MORPH_CARRIED"  # the vendor's variables that morph itself has set from CUDA's
CACHE = "MORPH_CACHE"
DEVICES = "MORPH_DEVICES"
DEVICE_MEMORY = "MORPH_DEVICE_MEMORY"
DEVICE_PROFILE = "MORPH_DEVICE_PROFILE"
FIT = "MORPH_FIT"
FIT_RECORDS = "MORPH_FIT_RECORDS"
INDUCTOR = "MORPH_INDUCTOR"
INJECT = "MORPH_INJECT"
MACHINE = "MORPH_MACHINE"
PACKAGES = "MORPH_PACKAGES"
RECORDS = "MORPH_RECORDS"
REHEARSE = "MORPH_REHEARSE"
SANITIZE = "MORPH_SANITIZE"
SANITIZE_JSON = "MORPH_SANITIZE_JSON"
SCOPE = "MORPH_SCOPE"


def read(name: str) -> str | None:
    """Return the value of an environment variable of morph's if it is set, not empty, and not ignored.

    It is ignored under ``-E`` and ``-I``, and in an interpreter that runs with another user's rights.
    """
    if sys.flags.ignore_environment or has_other_rights():
        return None
    return os.environ.get(name) or None
