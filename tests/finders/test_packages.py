"""Served packages in real processes, with real distributions beside them."""

from __future__ import annotations

import os
import pathlib
import shutil
import subprocess
import sys
import textwrap
import zipfile
from dataclasses import dataclass, field

import pytest

from tests.installation import copy_sources
from tests.platforms import describe

TREES = pathlib.Path(__file__).parent / "trees"
OURS = ("MORPH_BACKEND", "MORPH_REPLACED", "MORPH_SCOPE")


@dataclass(frozen=True)
class Checkout:
    """A bare checkout whose aliases have the specimen's tree, and what is installed beside it."""

    folder: pathlib.Path
    installed: list[pathlib.Path] = field(default_factory=list)

    def run(
        self, code: str, *, morph: bool = True, check: bool = True, **variables: str
    ) -> subprocess.CompletedProcess[str]:
        """Run ``code`` away from the checkout, under morph or by Python alone."""
        kept = {name: value for name, value in os.environ.items() if name not in OURS}
        path = os.pathsep.join(map(str, [self.folder, *self.installed]))
        launcher = ["-m", "morph", "--backend", "cpu"] if morph else []
        command = [sys.executable, *launcher, "-c", textwrap.dedent(code)]
        environment = {**kept, "PYTHONPATH": path, "TORCH_DEVICE_BACKEND_AUTOLOAD": "0", **variables}
        done = subprocess.run(
            command,
            env=environment,
            cwd=self.folder.parent,
            timeout=120,
            capture_output=True,
            text=True,
            check=False,
        )
        assert not check or done.returncode == 0, describe(done)
        return done

    def with_installed(self, *folders: pathlib.Path) -> Checkout:
        """Return the checkout with folders of installed distributions beside it."""
        return Checkout(self.folder, list(folders))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    folder = copy_sources(tmp_path_factory.mktemp("sources") / "checkout")
    shutil.copytree(TREES, folder / "aliases", dirs_exist_ok=True)
    return Checkout(folder)


def install(folder: pathlib.Path, distribution: str, files: dict[str, str]) -> pathlib.Path:
    """Build a wheel and have pip install it below ``folder``."""
    name = f"{distribution.replace('-', '_')}-1.5"
    wheel = folder / f"{name}-py3-none-any.whl"
    info = {
        "METADATA": f"Metadata-Version: 2.1\nName: {distribution}\nVersion: 1.5\n",
        "WHEEL": "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    with zipfile.ZipFile(wheel, "w") as archive:
        for file, text in {**files, **{f"{name}.dist-info/{k}": v for k, v in info.items()}}.items():
            archive.writestr(file, text)
        listed = "".join(f"{file},,\n" for file in [*archive.namelist(), f"{name}.dist-info/RECORD"])
        archive.writestr(f"{name}.dist-info/RECORD", listed)
    target = folder / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--target", target]
    done = subprocess.run([*map(str, pip), str(wheel)], capture_output=True, text=True, check=False)
    assert done.returncode == 0, describe(done)
    return target


@pytest.fixture(scope="module")
def working(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """An installation of the specimen that works."""
    source = "import specimen_C\n__version__ = '1.5'\n"
    files = {"specimen/__init__.py": source, "specimen/own.py": "", "specimen_C.py": "VALUE = 0\n"}
    return install(tmp_path_factory.mktemp("working"), "specimen-ml", files)


@pytest.fixture(scope="module")
def broken(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """An installation of the specimen whose extension cannot load, as where libcuda is absent."""
    source = "raise ImportError('libcuda.so.1: cannot open shared object file')\n"
    files = {"specimen/__init__.py": "import specimen.own\n", "specimen/own.py": "", "specimen_C.py": source}
    return install(tmp_path_factory.mktemp("broken"), "specimen-ml", files)


def test_is_served_whole(checkout: Checkout) -> None:
    done = checkout.run(
        """
        import copy, importlib.util, inspect, pickle, pydoc, sys
        spec = importlib.util.find_spec("specimen")
        assert "specimen" not in sys.modules and spec.submodule_search_locations
        import specimen, specimen_C, specimen_extra, specimen.inner.deep
        assert specimen.__version__ == "2.8.4" and specimen.add(1, 2) == 3
        assert specimen_C.VALUE == 1 and specimen_extra.VALUE == 2
        assert specimen.__spec__.origin == specimen.__file__ == spec.origin
        assert specimen.Thing.__module__ == "specimen.inner.deep"
        assert type(pickle.loads(pickle.dumps(specimen.Thing()))) is specimen.Thing
        assert b"morph" not in pickle.dumps(specimen.Thing())
        assert "Add two numbers" in inspect.getsource(specimen.add)
        assert inspect.getmodule(specimen.add) is specimen
        assert "Add two numbers" in pydoc.render_doc(specimen) and "add" in dir(specimen)
        assert repr(specimen).startswith("<module 'specimen' from ")
        try:
            copy.deepcopy(specimen)
        except TypeError as error:
            assert "cannot pickle 'module' object" in str(error)
        assert importlib.reload(specimen) is specimen and importlib.reload(specimen.inner.deep)
        assert importlib.util.find_spec("specimen.inner.deep").origin == specimen.inner.deep.__file__
        assert importlib.util.find_spec("specimen.nothing") is None
        assert "torch" not in sys.modules
        """
    )
    assert done.stderr == ""


def test_missing_names_are_refused_with_the_reason(checkout: Checkout) -> None:
    checkout.run(
        """
        import importlib.util, pickle
        import specimen.inner.deep
        from morph.errors import MissingImportError, MissingNameError
        assert not hasattr(specimen, "gone") and getattr(specimen, "gone", 1) == 1

        def error_of(code):
            try:
                exec(code)
            except Exception as error:
                return error

        gone = error_of("specimen.gone")
        assert type(gone) is MissingNameError, gone
        assert "specimen.gone does not exist" in str(gone) and "call specimen.add" in str(gone)
        gone = error_of("from specimen import gone")
        assert type(gone) is MissingImportError and isinstance(gone, ImportError)
        assert str(gone) == str(pickle.loads(pickle.dumps(gone)))
        assert str(gone).startswith("cannot import name 'gone' from 'specimen': it takes a GPU")
        assert "it went deeper" in str(error_of("specimen.inner.deep.gone"))
        for code in "import specimen.cute", "import specimen.cute.inside", "from specimen.cute import x":
            gone = error_of(code)
            assert type(gone) is ModuleNotFoundError and "it is written for NVIDIA's" in str(gone), code
            assert gone.name == "specimen.cute"
        assert importlib.util.find_spec("specimen.cute") is None
        unknown = error_of("specimen.never")
        assert type(unknown) is AttributeError
        assert str(unknown) == "module 'specimen' has no attribute 'never'"
        assert type(error_of("from specimen import never")) is ImportError
        """
    )


def test_torch_is_served_nothing_that_it_names_itself(checkout: Checkout) -> None:
    checkout.run(
        """
        import sys
        torchs = {"__name__": "torch._inductor.specimen", "name": "specimen.inner"}

        def refused(code, namespace=torchs):
            try:
                exec(code, namespace)
            except ModuleNotFoundError as error:
                return error.name
            return None

        assert refused("import specimen") == refused("import specimen.inner.deep") == "specimen"
        assert refused("import importlib; importlib.import_module('specimen')") == "specimen"
        assert "specimen" not in sys.modules
        assert refused("__import__(name)") is None, "a program told torch to, as torch.load is told"
        assert "specimen.inner" in sys.modules
        assert refused("import specimen.inner.nothing") == "specimen.inner.nothing"
        del sys.modules["specimen.inner"]
        assert refused("import specimen.inner") == "specimen.inner"
        import specimen.inner

        from morph.finders.packages import packages
        from morph.finders.scope import Policy, Scope
        packages.uninstall()
        packages.install(Scope({"mine": Policy(), "sparing": Policy(served=frozenset({"apex"}))}))
        assert refused("import specimen", {"__name__": "other"}) == "specimen"
        assert refused("import specimen", {"__name__": "sparing.of"}) == "specimen"
        assert refused("import specimen", {"__name__": "mine.of"}) is None
        """
    )


def test_metadata_agrees_whoever_asks(checkout: Checkout) -> None:
    done = checkout.run(
        """
        import importlib.metadata, subprocess, sys
        import importlib_metadata
        for library in importlib.metadata, importlib_metadata:
            for name in "specimen-ml", "specimen_ml", "Specimen.ML", "specimen-old":
                assert library.version(name) == "2.8.4"
                distribution = library.distribution(name)
                assert isinstance(distribution, library.Distribution)
                assert distribution.metadata["Summary"] == "A specimen, served by morph"
                assert distribution.requires == ["torch"] and list(distribution.entry_points) == []
                assert distribution.read_text("nothing") is None
            files = library.files("specimen-ml")
            assert "specimen/inner/deep.py" in map(str, files) and "specimen_C.py" in map(str, files)
            assert all(file.locate().is_file() for file in files)
            names = library.packages_distributions()
            assert names["specimen"] == names["specimen_C"] == ["specimen-ml", "specimen_old"]
            assert library.entry_points(group="torch.backends") is not None
            try:
                library.version("specimen")
            except library.PackageNotFoundError:
                continue
            raise AssertionError("the distribution is called otherwise")
        subprocess.run([sys.executable, "-m", "pip", "list"], check=True)
        """
    )
    assert "pip" in done.stdout
    assert "specimen" not in done.stdout


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


def test_is_not_served_without_activation(checkout: Checkout) -> None:
    checkout.run(
        """
        import importlib.metadata, importlib.util, sys
        import morph
        assert importlib.util.find_spec("specimen") is None
        from morph import activation
        activation.arm("cpu")
        import specimen
        assert importlib.metadata.version("specimen-ml") == "2.8.4"
        morph.deactivate()
        assert importlib.util.find_spec("specimen") is None
        assert not [name for name in sys.modules if name.startswith("specimen")]
        assert not any("specimen-ml" == each.name for each in importlib.metadata.distributions())
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


def test_every_top_level_module_comes_with_one_package() -> None:
    from morph.aliases.package import load
    from morph.finders import places

    trees = [load(name) for name in places.names() if places.has_tree(name)]
    owned = [name for package in trees for name in package.import_names]
    assert sorted(owned) == sorted(places.names())
    assert all(pathlib.Path(places.top_level(name)).is_file() for name in owned)
    assert all(package.distributions for package in trees)
