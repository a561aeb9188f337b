"""Every way in which a stranger installs the project ends in the first success of the README."""

import pathlib
import shutil
import zipfile
from collections.abc import Callable

import pytest

from tests.installation import build, create
from tests.packaging.checkout import clone, files, git
from tests.platforms import REPOSITORY

PROGRAM = "tests/programs/digits.py"


@pytest.fixture(scope="module")
def repository(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    return clone(tmp_path_factory.mktemp("repository"))


def archive(repository: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    """Returns a zip of the repository with one folder in it, as GitHub makes it."""
    git(
        "archive",
        "--format=zip",
        "--prefix=morph-main/",
        f"--output={folder}/morph.zip",
        "HEAD",
        cwd=repository,
    )
    return folder / "morph.zip"


def unpacked(repository: pathlib.Path, folder: pathlib.Path) -> pathlib.Path:
    zipfile.ZipFile(archive(repository, folder)).extractall(folder)
    return folder / "morph-main"


WAYS: dict[str, Callable[[pathlib.Path, pathlib.Path], object]] = {
    "git": lambda repository, folder: f"git+file://{repository}",
    "zip": archive,
    "unpacked-zip": unpacked,
    "sdist": lambda repository, folder: build("sdist", repository, folder),
    "wheel": lambda repository, folder: build("wheel", repository, folder),
}


@pytest.mark.long
@pytest.mark.parametrize("way", WAYS)
def test_an_installation_ends_in_the_first_success(
    way: str, repository: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    environment = create(tmp_path / "environment")
    environment.install(WAYS[way](repository, tmp_path))
    shutil.copy(REPOSITORY / PROGRAM, tmp_path)
    done = environment.run("-m", "morph", "--backend", "cpu", "digits.py", "--epochs", "1", cwd=tmp_path)
    assert "accuracy" in done.stdout
    where = environment.run("-c", "import morph.finders, morph.aliases as a; print(a.__file__)").stdout
    assert pathlib.Path(where.strip()).is_relative_to(environment.packages)


def test_no_file_of_the_repository_is_a_symbolic_link() -> None:
    assert [name for name in files() if (REPOSITORY / name).is_symlink()] == []
