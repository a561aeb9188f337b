"""The page that an index makes of the README."""

import email
import pathlib
import re
import sys
import zipfile

import morph
from tests.platforms import REPOSITORY, complete, describe

URL = "https://github.com/OWNER/morph"


def metadata(wheel: pathlib.Path) -> email.message.Message:
    with zipfile.ZipFile(wheel) as archive:
        (name,) = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return email.message_from_bytes(archive.read(name))


def test_the_version_is_that_of_the_package(built_wheel: pathlib.Path) -> None:
    assert metadata(built_wheel)["Version"] == morph.__version__


def test_the_index_accepts_the_wheel(built_wheel: pathlib.Path) -> None:
    command = [sys.executable, "-m", "twine", "check", "--strict", str(built_wheel)]
    done = complete(command)
    assert done.returncode == 0, describe(done)


def test_every_link_leads_to_the_repository(built_wheel: pathlib.Path) -> None:
    page = f"{URL}/blob/v{morph.__version__}/"
    assert metadata(built_wheel)["Project-URL"] == f"Repository, {URL}"
    text = str(metadata(built_wheel).get_payload())
    links = re.findall(r"\]\(([^)\s]+)\)", text)
    assert len(links) == len(re.findall(r"\]\(", (REPOSITORY / "README.md").read_text(encoding="utf-8")))
    for link in links:
        assert link.startswith("https://"), link
        if link.startswith(URL):
            assert (REPOSITORY / link.removeprefix(page).partition("#")[0]).exists(), link
    assert f"{page}README.md#install" in links
