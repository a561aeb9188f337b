"""Served packages in real processes: modules, missing names, metadata, and where they are not served."""

import pathlib

from tests.finders.specimen import Checkout


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
        from morph.base.errors import MissingImportError, MissingNameError
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

        from morph.finders.packages.finder import packages
        from morph.finders.scope import Policy, Scope
        packages.uninstall()
        packages.install(Scope({"mine": Policy(), "sparing": Policy(served=frozenset({"apex"}))}))
        assert refused("import specimen", {"__name__": "other"}) == "specimen"
        assert refused("import specimen", {"__name__": "sparing.of"}) == "specimen"
        assert refused("import specimen", {"__name__": "mine.of"}) is None
        """
    )


def test_metadata_is_served_to_who_has_opted_in_and_to_what_is_served(checkout: Checkout) -> None:
    checkout.run(
        """
        import importlib.metadata
        from morph.finders.packages.finder import packages
        from morph.finders.scope import Policy, Scope
        packages.uninstall()
        packages.install(Scope({"mine": Policy()}))

        def sees(module):
            names = {"__name__": module}
            exec("import importlib.metadata as m; found = [*m.distributions(name='specimen-ml')]", names)
            return bool(names["found"])

        assert sees("mine") and sees("mine.of") and sees("specimen.inner")
        assert not sees("other") and not sees("morph.scope") and not sees("other.specimen")
        """
    )


def test_a_served_module_is_the_same_after_an_interruption(
    checkout: Checkout,
) -> None:
    checkout.run(
        """
        import morph
        from morph import activation

        def imported(backend):
            activation.arm(activation.Request(backend))
            import torch
            import specimen
            morph.deactivate()
            return specimen

        first = imported("cpu")
        assert imported("cpu") is first
        """,
        morph=False,
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


def test_is_not_served_without_activation(checkout: Checkout) -> None:
    checkout.run(
        """
        import importlib.metadata, importlib.util, sys
        import morph
        assert importlib.util.find_spec("specimen") is None
        from morph import activation
        activation.arm(activation.Request("cpu"))
        import specimen
        assert importlib.metadata.version("specimen-ml") == "2.8.4"
        morph.deactivate()
        assert importlib.util.find_spec("specimen") is None
        assert not [name for name in sys.modules if name.startswith("specimen")]
        assert not any("specimen-ml" == each.name for each in importlib.metadata.distributions())
        """,
        morph=False,
    )


def test_every_top_level_module_comes_with_one_package() -> None:
    from morph.backends.tables.package import load
    from morph.finders.packages import folders

    trees = [load(name) for name in folders.names() if folders.has_tree(name)]
    owned = [name for package in trees for name in package.import_names]
    assert sorted(owned) == sorted(folders.names())
    assert all(pathlib.Path(folders.top_level(name)).is_file() for name in owned)
    assert all(package.distributions for package in trees)


def test_a_list_of_all_distributions_looks_for_each_package_once(checkout: Checkout) -> None:
    checkout.run(
        """
        import importlib.metadata, sys
        asked = []

        class Last:
            @staticmethod
            def find_spec(name, path=None, target=None):
                asked.append(name)

        sys.meta_path.append(Last)
        names = [each.name for each in importlib.metadata.distributions()]
        assert {"specimen-ml", "specimen_old"} <= set(names)
        assert asked.count("specimen") == 1
        """
    )
