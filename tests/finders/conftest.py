"""The specimen package: a checkout that serves it, and working and broken installations of it."""

import pathlib
import shutil

import pytest

from tests.finders.specimen import Checkout, install
from tests.installation import copy_sources

TREES = pathlib.Path(__file__).parent / "trees"


@pytest.fixture(scope="session")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Checkout:
    folder = copy_sources(tmp_path_factory.mktemp("sources") / "checkout")
    shutil.copytree(TREES, folder / "aliases" / "packages", dirs_exist_ok=True)
    return Checkout(folder)


@pytest.fixture(scope="session")
def working(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """A working installation of the specimen."""
    source = "import specimen_C\n__version__ = '1.5'\n"
    files = {"specimen/__init__.py": source, "specimen/own.py": "", "specimen_C.py": "VALUE = 0\n"}
    return install(tmp_path_factory.mktemp("working"), "specimen-ml", files)


@pytest.fixture(scope="session")
def broken(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """An installation of the specimen whose extension cannot load, as without libcuda."""
    source = "raise ImportError('libcuda.so.1: cannot open shared object file')\n"
    files = {"specimen/__init__.py": "import specimen.own\n", "specimen/own.py": "", "specimen_C.py": source}
    return install(tmp_path_factory.mktemp("broken"), "specimen-ml", files)
