"""A virtual environment with morph installed, not enabled at the start of each test."""

import pathlib
from collections.abc import Iterator

import pytest

from tests import installation
from tests.installation import FreshEnvironment

NAMES = ("morph.pth", "morph.start", "morph.toml")


@pytest.fixture(scope="session")
def wheel_environment(
    built_wheel: pathlib.Path, native_parts: None, tmp_path_factory: pytest.TempPathFactory
) -> FreshEnvironment:
    """An environment with the built wheel, shared by tests that do not change the package."""
    fresh = installation.create(tmp_path_factory.mktemp("enabled") / "environment")
    fresh.install(built_wheel)
    return fresh


@pytest.fixture
def environment(wheel_environment: FreshEnvironment) -> Iterator[FreshEnvironment]:
    """The environment, not enabled."""
    listed = record(wheel_environment).read_bytes()
    yield wheel_environment
    for name in NAMES:
        (wheel_environment.packages / name).unlink(missing_ok=True)
    record(wheel_environment).write_bytes(listed)


def record(environment: FreshEnvironment) -> pathlib.Path:
    """Return the RECORD file of morph's distribution."""
    return next(environment.packages.glob("torch_morph-*.dist-info")) / "RECORD"
