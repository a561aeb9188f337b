"""SECURITY.md's promises about folders: who may do what with which, a test for each line."""

import os
import pathlib
import re
import stat
import subprocess
import sys
import tempfile
from collections.abc import Callable

import pytest

from morph.base import private
from morph.base.errors import MorphError
from morph.base.native import cache
from morph.kernels.nvidia_smi import launcher
from morph.kernels.triton import building
from tests.platforms import REPOSITORY

NOBODY = 65534
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can give files away")
TELLS = "import pathlib, morph.base.private; print(morph.base.private.is_private(pathlib.Path('/')))"


@pytest.fixture(autouse=True)
def user(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    """The user's folder of the cache, in a shared one; a temporary folder of the same kind is beside it."""
    for name in ("shared", "temporary"):
        (tmp_path / name).mkdir()
        (tmp_path / name).chmod(0o1777)
    monkeypatch.setenv("MORPH_CACHE", str(tmp_path / "shared" / "morph"))
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "temporary"))
    return tmp_path / "shared" / "morph"


def kept(user: pathlib.Path) -> pathlib.Path:
    """Keep a library in the cache, and return its path."""
    built, library = user.parent / "built", user / "native" / "probe.so"
    built.write_bytes(b"content")
    cache.keep(built, library)
    assert cache.is_sound(library)
    return library


def own(path: pathlib.Path) -> None:
    os.chown(path, NOBODY, NOBODY, follow_symlinks=False)


def open_to_all(path: pathlib.Path) -> None:
    path.chmod(0o777)


def open_to_a_group(path: pathlib.Path) -> None:
    path.chmod(0o775)


CHANGES = [pytest.param(own, marks=as_root), open_to_all, open_to_a_group]


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("which", [0, 1, 2], ids=["library", "native", "morph"])
def test_what_others_can_change_is_not_loaded(
    user: pathlib.Path, change: Callable[[pathlib.Path], None], which: int
) -> None:
    library = kept(user)
    change([library, *library.parents][which])
    assert not cache.is_sound(library)


@as_root
def test_nor_a_record_of_another_user(user: pathlib.Path) -> None:
    library = kept(user)
    own(library.with_name("probe.so.digest"))
    assert not cache.is_sound(library)


def test_a_folder_above_without_the_sticky_bit_is_not_used(user: pathlib.Path) -> None:
    library = kept(user)
    user.parent.chmod(0o777)
    assert not cache.is_sound(library)
    with pytest.raises(PermissionError, match=f"others can write to {user.parent}; chmod go-w it"):
        private.prepare(user / "other")
    assert not (user / "other").exists()


@as_root
def test_a_folder_that_another_user_made_first_is_left_as_it_is(user: pathlib.Path) -> None:
    user.mkdir()
    (user / "programs").mkdir(mode=0o755)
    own(user / "programs")
    assert launcher.folder().is_relative_to(f"{tempfile.gettempdir()}/morph-programs-0")
    assert not [*(user / "programs").iterdir()]
    assert stat.S_IMODE((user / "programs").stat().st_mode) == 0o755


@as_root
@pytest.mark.parametrize("where", ["programs", "morph-programs-0"])
def test_a_link_of_another_user_is_not_followed(user: pathlib.Path, where: str) -> None:
    precious = user.parent / "precious"
    precious.mkdir(mode=0o755)
    user.mkdir()
    for link in (user / "programs", pathlib.Path(tempfile.gettempdir(), "morph-programs-0")):
        if link.name == where:
            link.symlink_to(precious)
            own(link)
    if where == "programs":
        assert launcher.folder().is_relative_to(tempfile.gettempdir())
    else:
        user.rmdir()
        user.write_text("the first folder cannot be made")
        with pytest.raises(PermissionError, match=r"belongs to user 65534; set MORPH_CACHE to"):
            launcher.folder()
    assert stat.S_IMODE(precious.stat().st_mode) == 0o755
    assert not [*precious.iterdir()]


@as_root
def test_a_link_that_waits_for_a_file_is_not_written_through(user: pathlib.Path) -> None:
    precious = user.parent / "precious"
    precious.write_text("precious")
    found = launcher.folder()
    for name in ("nvidia-smi", "nvidia_smi.py"):
        (found / name).unlink()
        (found / name).symlink_to(precious)
        own(found / name)
    assert launcher.folder() == found
    assert precious.read_text() == "precious"
    assert not (found / "nvidia-smi").is_symlink()


def test_the_users_own_link_is_followed(user: pathlib.Path, tmp_path: pathlib.Path) -> None:
    (tmp_path / "disk").mkdir()
    user.symlink_to(tmp_path / "disk")
    assert cache.is_sound(kept(user))
    (tmp_path / "disk").chmod(0o777)
    assert not cache.is_sound(user / "native" / "probe.so")


def test_links_in_a_circle_are_refused(user: pathlib.Path) -> None:
    user.symlink_to(user)
    assert not private.is_private(user / "native")
    with pytest.raises(OSError, match="links"):
        private.prepare(user / "native")


def test_the_group_of_one_user_may_write(user: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = kept(user)
    user.chmod(0o770)
    monkeypatch.setattr(private, "_is_of_one_user", lambda group: group == user.stat().st_gid)
    assert cache.is_sound(library)


def test_all_that_is_made_is_the_users_alone(user: pathlib.Path) -> None:
    before = os.umask(0)
    try:
        library, program = kept(user), launcher.folder() / "nvidia-smi"
    finally:
        os.umask(before)
    for path in (library, library.parent, user, program, program.parent, program.parent.parent):
        assert stat.S_IMODE(path.stat().st_mode) == 0o700


def test_a_kernel_is_compiled_where_nobody_can_exchange_it(
    user: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with private.scratch("kernel-") as folder:
        assert folder.parent == pathlib.Path(tempfile.gettempdir())
    os.chmod(tempfile.gettempdir(), 0o777)
    with private.scratch("kernel-") as folder:
        assert folder.parent == user / "scratch"
    assert not folder.exists()
    open_to_all(user)
    with pytest.raises(
        MorphError, match=r"^no folder for temporary files: .*; set TMPDIR to one of your own$"
    ):
        building.build("// a kernel", False)


@as_root
def test_a_lock_of_another_users_folder_is_not_taken(user: pathlib.Path) -> None:
    user.mkdir()
    precious = user.parent / "precious"
    precious.write_text("precious")
    (user / "build.lock").symlink_to(precious)
    own(user)
    with pytest.raises(PermissionError), cache.locked(user / "build", lambda: pytest.fail("waits")):
        pass
    assert precious.read_text() == "precious"


@as_root
def test_what_root_has_made_is_used(user: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    library = kept(user)
    monkeypatch.setattr(os, "getuid", lambda: NOBODY)
    assert cache.is_sound(library)
    own(library)
    assert cache.is_sound(library), "now it is this user's own"
    monkeypatch.setattr(os, "getuid", lambda: NOBODY - 1)
    assert not cache.is_sound(library)


def test_owners_outside_a_user_namespace_count_as_root(user: pathlib.Path) -> None:
    """In a container without rights the host's root is not known, and its folders lead everywhere."""
    words = ["unshare", "--user", f"--map-user={os.getuid() + 1000}", "env", f"PYTHONPATH={REPOSITORY}"]
    done = subprocess.run([*words, sys.executable, "-c", TELLS], capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"no user namespace here: {done.stderr}")
    assert done.stdout == "True\n"


def test_each_line_of_the_promise_has_a_test() -> None:
    named = re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", (REPOSITORY / "SECURITY.md").read_text())
    assert len(named) > 10
    for file, name in named:
        assert f"def {name}(" in (REPOSITORY / file).read_text(), name
