"""Served packages next to real installations: one that works wins, one that cannot load is replaced."""

import pathlib

import pytest

from tests.finders.specimen import Checkout


def test_a_working_installation_wins(checkout: Checkout, working: pathlib.Path) -> None:
    done = checkout.with_installed(working).run(
        """
        import importlib.metadata, importlib.util, sys
        assert importlib.metadata.version("specimen-ml") == "1.5"
        import specimen, specimen_C, specimen.own
        assert specimen.__version__ == "1.5" and specimen_C.VALUE == 0
        assert type(specimen.__loader__).__name__ == "SourceFileLoader"
        assert specimen.__spec__.loader is specimen.__loader__
        assert importlib.reload(specimen) is specimen
        assert importlib.util.find_spec("specimen_extra") is None, "its own package has none"
        del sys.modules["specimen"]
        assert importlib.import_module("specimen").__version__ == "1.5"
        """
    )
    assert done.stderr == ""
    imported_first = "import specimen as s; assert s.__spec__.loader is s.__loader__; print(s.__version__)"
    assert checkout.with_installed(working).run(imported_first).stdout == "1.5\n"


def test_one_that_cannot_load_is_replaced(checkout: Checkout, broken: pathlib.Path) -> None:
    code = """
        import importlib.metadata, subprocess, sys
        assert importlib.metadata.version("specimen-ml") == "2.8.4"
        import specimen, specimen_C
        assert specimen.__version__ == "2.8.4" and specimen_C.VALUE == 1
        assert "specimen.own" not in sys.modules
        import specimen.inner
        child = "import specimen; print(specimen.__version__)"
        subprocess.run([sys.executable, "-c", child], check=True)
        """
    done = checkout.with_installed(broken).run(code)
    assert done.stdout == "2.8.4\n"
    assert done.stderr.splitlines() == [
        "morph: specimen-ml is installed but cannot load (ImportError: libcuda.so.1: cannot open shared"
        " object file); morph serves specimen"
    ]


@pytest.mark.usefixtures("native_parts")
def test_one_that_is_replaced_adds_no_variable(checkout: Checkout, broken: pathlib.Path) -> None:
    """A test suite may refuse that a test leaves a variable in the environment."""
    done = checkout.with_installed(broken).run(
        """
        import os, subprocess, sys, torch
        before = set(os.environ)
        import specimen
        assert set(os.environ) == before
        subprocess.run([sys.executable, "-c", "import torch, specimen"], check=True)
        """
    )
    assert [line.split()[1] for line in done.stderr.splitlines()] == ["cuda", "specimen-ml"]


@pytest.mark.usefixtures("native_parts")
def test_activation_replaces_what_is_imported_and_deactivation_puts_it_back(
    checkout: Checkout, broken: pathlib.Path
) -> None:
    checkout.with_installed(broken).run(
        """
        import importlib.util, sys
        import morph, specimen, specimen.own
        sys.modules["specimen_extra"] = None  # as a program blocks a module
        before, path = dict(sys.modules), []
        for _ in range(2):
            morph.activate("cpu")
            assert path in ([], sys.meta_path)
            path = list(sys.meta_path)
            import specimen as served
            assert served is not before["specimen"] and served.__version__ == "2.8.4"
            assert "specimen.own" not in sys.modules
            morph.deactivate()
            names = [name for name in sys.modules if name.startswith("specimen")]
            assert {name: sys.modules[name] for name in names} == {
                name: before[name] for name in before if name.startswith("specimen")
            }
            assert "PackageFinder" not in [type(each).__name__ for each in sys.meta_path]
        """,
        morph=False,
    )


def test_threads_that_ask_at_once_get_one_answer(checkout: Checkout, broken: pathlib.Path) -> None:
    done = checkout.with_installed(broken).run(
        """
        import importlib, importlib.metadata, threading
        barrier, seen = threading.Barrier(8), []

        def ask(number):
            barrier.wait()
            version = importlib.metadata.version("specimen-ml") if number % 2 else ""
            seen.append((importlib.import_module("specimen"), version))

        threads = [threading.Thread(target=ask, args=[number]) for number in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        assert len({id(module) for module, _ in seen}) == 1 and {v for _, v in seen} == {"", "2.8.4"}
        """
    )
    assert done.stderr.count("cannot load") == 1
