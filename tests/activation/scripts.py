"""Scripts that activate morph before or after torch is imported."""

import textwrap

from tests import origin
from tests.platforms import Platform


def filled(platform: Platform, text: str) -> str:
    arguments = f"{platform.backend!r}, simulated={platform.is_simulated}"
    return textwrap.dedent(text).replace("(BACKEND", f"({arguments}")


def late(platform: Platform, text: str) -> str:
    """Runs a script in which torch is imported already, and returns what it says."""
    return origin.run(platform, filled(platform, text)).stderr


def early(platform: Platform, text: str, **environment: str) -> None:
    """Runs a script in which torch is not imported yet, unless the device is a simulated one."""
    platform.run(filled(platform, text), morph=False, environment=environment)
