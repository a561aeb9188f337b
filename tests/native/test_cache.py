"""The cache of built libraries: one that is incomplete, or could be somebody else's, is built again."""

import os
import pathlib
import subprocess
from collections.abc import Callable, Iterator

import pytest

from tests.native.conftest import write_source
from tests.native.test_building import built, failed, start
from tests.platforms import Platform

pytestmark = [pytest.mark.long, pytest.mark.platforms("cpu")]
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can mount, and give files away")
NOBODY = 65534


def kept(source: pathlib.Path) -> pathlib.Path:
    [library] = (source.parents[1] / "cache" / "native").glob("*.so")
    return library


def truncate(library: pathlib.Path) -> None:
    os.truncate(library, library.stat().st_size // 2)


def change(library: pathlib.Path) -> None:
    content = bytearray(library.read_bytes())
    content[len(content) // 2] ^= 1
    library.write_bytes(content)


def link(library: pathlib.Path) -> None:
    library.symlink_to(library.rename(library.with_name("elsewhere")))


DAMAGES: dict[str, Callable[[pathlib.Path], object]] = {
    "empty": lambda library: os.truncate(library, 0),
    "truncated": truncate,
    "longer": lambda library: library.write_bytes(library.read_bytes() + b"\0"),
    "changed": change,
    "missing": lambda library: library.unlink(),
    "without a record": lambda library: library.with_name(library.name + ".digest").unlink(),
    "with an empty record": lambda library: library.with_name(library.name + ".digest").write_text(""),
    "for all to write": lambda library: library.chmod(0o777),
    "a link": link,
}


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> pathlib.Path:
    """The part's source, whose library each damage leaves built again."""
    return write_source(tmp_path_factory.mktemp("shared"))


@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_what_is_damaged_is_built_again(
    platform: Platform, shared: pathlib.Path, damage: Callable[[pathlib.Path], object]
) -> None:
    if not (shared.parents[1] / "cache").exists():
        built(platform, shared)
    first = f"probe {kept(shared)}"
    damage(kept(shared))
    said, *_, again = built(platform, shared)
    assert said.startswith("morph: compiling ")
    assert again == first
    assert built(platform, shared) == [first]


@as_root
def test_what_is_another_users_is_built_again(platform: Platform, source: pathlib.Path) -> None:
    built(platform, source)
    os.chown(kept(source), NOBODY, NOBODY)
    assert built(platform, source)[0].startswith("morph: compiling ")
    assert kept(source).stat().st_uid == 0


@as_root
def test_another_users_link_to_a_folder_is_not_followed(
    platform: Platform, source: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    built(platform, source)
    folder = kept(source).parent
    folder.rename(tmp_path / "elsewhere")
    folder.symlink_to(tmp_path / "elsewhere")
    assert len(built(platform, source)) == 1, "the user's own link is followed"
    os.lchown(folder, NOBODY, NOBODY)
    *_, loaded = built(platform, source, TMPDIR=str(tmp_path))
    assert loaded.startswith(f"probe {tmp_path}/morph-native-0/")


@pytest.fixture
def mounted(tmp_path: pathlib.Path) -> Iterator[Callable[[str], pathlib.Path]]:
    """Mounts a file system in memory with the given options."""
    folder = tmp_path / "mounted"
    folder.mkdir()

    def mount(options: str) -> pathlib.Path:
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", options, "tmpfs", folder], capture_output=True, check=False
        )
        if done.returncode:
            pytest.skip(f"nothing can be mounted here: {done.stderr.decode()}")
        return folder

    yield mount
    subprocess.run(["umount", folder], capture_output=True, check=False)


@as_root
def test_a_folder_that_nothing_is_executed_from(
    platform: Platform,
    source: pathlib.Path,
    tmp_path: pathlib.Path,
    mounted: Callable[[str], pathlib.Path],
) -> None:
    cache = mounted("noexec,mode=700")
    said, *_, loaded = built(platform, source, MORPH_CACHE=str(cache), TMPDIR=str(tmp_path))
    assert said.startswith("morph: compiling ")
    assert loaded.startswith(f"probe {tmp_path}/morph-native-"), "copied, and not compiled once more"
    assert built(platform, source, MORPH_CACHE=str(cache), TMPDIR=str(tmp_path)) == [loaded]
    *_, problem = failed(platform, source, MORPH_CACHE=str(cache), TMPDIR=str(cache))
    assert problem.startswith("the C++ part 'probe' cannot be loaded: ")


@as_root
def test_a_full_disk(
    platform: Platform,
    source: pathlib.Path,
    tmp_path: pathlib.Path,
    mounted: Callable[[str], pathlib.Path],
) -> None:
    cache = mounted("size=4k,mode=700")
    *_, loaded = built(platform, source, MORPH_CACHE=str(cache), TMPDIR=str(tmp_path))
    assert loaded.startswith(f"probe {tmp_path}/morph-native-")
    occupied = tmp_path / "occupied"
    occupied.mkdir()
    (occupied / f"morph-native-{os.getuid()}").write_text("")
    *_, problem = failed(platform, source, MORPH_CACHE=str(cache), TMPDIR=str(occupied))
    assert problem.startswith("no folder to keep the C++ part 'probe' in: ")


def test_many_processes_on_a_cold_cache_build_once(platform: Platform, source: pathlib.Path) -> None:
    processes = [start(platform, source) for _ in range(20)]
    lines = [line for process in processes for line in process.communicate(timeout=300)[0].splitlines()]
    assert len([line for line in lines if line.startswith("morph: compiling ")]) == 1
    assert len([line for line in lines if line.startswith("probe ")]) == 20
