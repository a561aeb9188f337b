"""A rehearsal and a report observe which names of a served package a program looks up."""

import pytest

from tests.worker import Worker


@pytest.fixture(autouse=True)
def everywhere(worker: Worker) -> None:
    """Runs the tests of this file in a process under morph."""


@pytest.mark.platforms("cpu")
def test_names_are_told_and_the_modules_are_as_before_afterwards() -> None:
    import importlib.util
    import pickle
    import sys
    from types import ModuleType

    import pynvml

    from morph.base.journal import Journal
    from morph.finders.packages.observer import observe

    asked: list[str] = []
    path, journal = list(sys.meta_path), Journal()
    observe(asked.append, journal)
    try:
        assert pynvml.NVML_SUCCESS == 0
        assert not hasattr(pynvml, "absent")
        assert not hasattr(pynvml, "__absent")
        assert not hasattr(pynvml, "absent__")
        assert importlib.util.find_spec("pynvml.smi") is None
        assert (repr(pynvml).startswith("<module 'pynvml' from"), isinstance(pynvml, ModuleType)) == (
            True,
        ) * 2
        assert pickle.loads(pickle.dumps(pynvml.NVMLError(3))).value == 3
    finally:
        journal.undo()
    told = ["NVML_SUCCESS", "absent", "__absent", "absent__", "smi", "NVMLError"]
    assert [name for name in asked if name.startswith("pynvml.")][:6] == [f"pynvml.{name}" for name in told]
    assert not [name for name in asked if ".__" in name and name.endswith("__")]
    assert type(pynvml) is ModuleType
    assert sys.meta_path == path
