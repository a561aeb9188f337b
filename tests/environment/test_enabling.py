"""`morph enable`, `disable` and `status`, in real virtual environments."""

import ctypes
import json
import os
import pathlib
from collections.abc import Callable
from typing import Any

import pytest

from tests.environment.conftest import NAMES, record
from tests.installation import FreshEnvironment, copy_sources, create
from tests.platforms import describe

LOADED = "import sys; print(sorted(name for name in sys.modules if name.partition('.')[0] == 'morph'))"
PR_CAPBSET_DROP, CAP_DAC_OVERRIDE = 24, 1


def there(environment: FreshEnvironment) -> set[str]:
    return {name for name in NAMES if (environment.packages / name).exists()}


def morph(environment: FreshEnvironment, *words: str, status: int = 0) -> list[str]:
    """Run a morph command and return the lines it prints."""
    done = environment.run("-m", "morph", *words, check=False)
    assert done.returncode == status, describe(done)
    return [*done.stdout.splitlines(), *done.stderr.splitlines()]


def state(environment: FreshEnvironment, status: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads("\n".join(morph(environment, "status", "--json", status=status)))
    return found


def test_changes_are_shown_then_made_once_and_taken_back(environment: FreshEnvironment) -> None:
    before = record(environment).read_bytes()
    planned = morph(environment, "enable", "--dry-run")
    assert (there(environment), record(environment).read_bytes()) == (set(), before)
    assert planned[-1] == "nothing was changed"

    made = morph(environment, "enable")
    assert made[:-1] == planned[:-1]
    paths = [environment.packages / name for name in ("morph.start", "morph.pth")]
    assert made[:-1] == [f"change {record(environment)}", *(f"write {path}" for path in paths)]
    assert {path.stat().st_mode & 0o777 for path in paths} == {0o644}
    listed = [line.partition(",")[0] for line in record(environment).read_text().splitlines()]
    assert listed[-2:] == ["morph.pth", "morph.start"]
    content = {path: path.read_bytes() for path in (*paths, record(environment))}

    assert len(morph(environment, "enable")) == 1, "a second time changes nothing"
    assert morph(environment, "enable", "--dry-run") == ["there is nothing to change"]
    assert {path: path.read_bytes() for path in content} == content

    assert morph(environment, "disable", "--dry-run")[-1] == "nothing was changed"
    assert there(environment) == {"morph.pth", "morph.start"}
    assert len(morph(environment, "disable")) == 4
    assert (there(environment), record(environment).read_bytes()) == (set(), before)
    assert len(morph(environment, "disable")) == 1


def test_options_become_the_environments_configuration(environment: FreshEnvironment) -> None:
    settings = environment.packages / "morph.toml"
    morph(environment, "enable", "--backend", "cpu", "--package", "sam2", "--package", "mytrainer")
    found = {each["key"]: each for each in json.loads("".join(morph(environment, "config", "--json")))}
    assert found["backend"] == {"key": "backend", "value": "cpu", "place": f"{settings}:2"}
    assert found["packages"]["value"] == ["sam2", "mytrainer"]
    morph(environment, "enable", "--backend", "npu")
    assert settings.read_text().splitlines()[1:] == ['backend = "npu"', 'packages = ["sam2", "mytrainer"]']
    morph(environment, "enable")
    assert there(environment) == set(NAMES)
    assert "morph.toml" in record(environment).read_text()

    (line,) = morph(environment, "enable", "--backend", "hpu", status=2)
    assert line.startswith("morph: there is no backend 'hpu'; ")
    (line,) = morph(environment, "enable", "--package", "sam-2", status=2)
    assert line.startswith("morph: --package: packages: 'sam-2' should be the name of a top-level package")

    settings.write_text(settings.read_text() + "[package.sam2]\nview = 'vendor'\n")
    (line,) = morph(environment, "enable", "--backend", "cpu", status=2)
    assert "has been changed by hand" in line
    morph(environment, "enable")
    morph(environment, "disable")
    assert there(environment) == {"morph.toml"}, "what a person has written stays"


def test_status(environment: FreshEnvironment) -> None:
    assert state(environment, 1) == {
        "prefix": str(environment.folder),
        "enabled": False,
        "files": [],
        "problems": [],
        "obstacle": None,
    }
    morph(environment, "enable")
    found = state(environment, 0)
    assert (found["enabled"], found["problems"]) == (True, [])
    assert found["files"] == [str(environment.packages / name) for name in ("morph.pth", "morph.start")]
    assert morph(environment, "status")[0] == f"{environment.folder} is enabled"

    start, pth = environment.packages / "morph.start", environment.packages / "morph.pth"
    start.write_text(start.read_text() + "os:abort\n")
    pth.chmod(0o666)
    damaged, writable = sorted(state(environment, 3)["problems"], reverse=True)
    assert damaged.startswith(f"{start} is not what this morph writes")
    assert writable.startswith(f"{pth} can be changed by others")
    start.unlink()
    assert state(environment, 3)["problems"][-1].startswith(f"{start} is missing")
    kept = [line for line in record(environment).read_text().splitlines() if not line.startswith("morph.pth")]
    record(environment).write_text("\n".join(kept) + "\n")
    assert any("would be left by an uninstallation" in each for each in state(environment, 3)["problems"])
    morph(environment, "enable")
    assert state(environment, 0)["problems"] == []
    assert pth.stat().st_mode & 0o777 == 0o644


def test_files_of_somebody_else_are_left_alone(environment: FreshEnvironment) -> None:
    (environment.packages / "morph.pth").write_text("# of another distribution\n")
    for command in ("enable", "disable"):
        (line,) = morph(environment, command, status=2)
        assert line.endswith("morph.pth exists and is not morph's; nothing was changed")
    assert there(environment) == {"morph.pth"}


def test_pip_removes_the_files_when_it_upgrades_or_uninstalls(
    built_wheel: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    environment = create(tmp_path / "environment")
    environment.install(built_wheel)
    morph(environment, "enable", "--backend", "cpu")
    environment.install("--force-reinstall", built_wheel)
    assert there(environment) == set()
    assert environment.run("-c", LOADED).stdout == "[]\n"
    assert morph(environment, "status", status=1)[-1].endswith("until pip upgrades or removes it")
    morph(environment, "enable", "--backend", "cpu")
    assert environment.run("-c", LOADED).stdout == "['morph']\n"
    environment.uninstall("torch-morph")
    assert there(environment) == set()
    done = environment.run("-c", LOADED)
    assert (done.stdout, done.stderr) == ("[]\n", "")


@pytest.mark.long
def test_an_editable_installation(tmp_path: pathlib.Path) -> None:
    checkout = copy_sources(tmp_path / "a checkout 'of' mörph")
    environment = create(tmp_path / "environment")
    environment.install("--editable", checkout)
    morph(environment, "enable")
    done = environment.run("-c", "import sys; print(sys.modules['morph'].__file__)")
    assert (done.stdout.strip(), done.stderr) == (str(checkout / "morph" / "__init__.py"), "")
    assert state(environment, 0)["problems"] == []
    environment.install("--editable", checkout)
    assert there(environment) == set(), "an installation anew is an upgrade"
    assert morph(environment, "enable")[-1].endswith(
        "runs under morph, until pip upgrades or removes it; see python -m morph status"
    )
    environment.uninstall("torch-morph")
    assert there(environment) == set()


def test_a_bare_checkout_says_what_to_do(tmp_path: pathlib.Path) -> None:
    checkout = copy_sources(tmp_path / "checkout")
    environment = create(tmp_path / "environment")
    path = {"PYTHONPATH": str(checkout)}
    for command in ("enable", "disable"):
        done = environment.run("-m", "morph", command, environment=path, check=False)
        assert (done.returncode, done.stdout) == (2, "")
        assert f"the morph in {checkout} is not installed in {environment.folder}; install it" in done.stderr
        assert "python -m morph program.py needs no start-up file" in done.stderr
    done = environment.run("-m", "morph", "status", environment=path, check=False)
    assert done.returncode == 1
    assert "it cannot be enabled: the morph in" in done.stdout


def test_a_folder_that_is_not_read_at_start_says_what_to_do(
    built_wheel: pathlib.Path, tmp_path: pathlib.Path
) -> None:
    environment = create(tmp_path / "environment")
    environment.install("--target", tmp_path / "target", built_wheel)
    path = {"PYTHONPATH": str(tmp_path / "target")}
    done = environment.run("-m", "morph", "enable", environment=path, check=False)
    assert done.returncode == 2
    assert f"reads no start-up files in {tmp_path / 'target'}; install morph in an environment" in done.stderr


def test_a_folder_that_cannot_be_written_says_what_to_do(environment: FreshEnvironment) -> None:
    before = record(environment).read_bytes()
    environment.packages.chmod(0o555)
    try:
        done = environment.run("-m", "morph", "enable", check=False, rights=_dropped_rights())
    finally:
        environment.packages.chmod(0o755)
    assert done.returncode == 2, describe(done)
    (line,) = done.stderr.splitlines()
    assert line.startswith(f"morph: {environment.packages} cannot be written: permission denied; run this as")
    assert (there(environment), record(environment).read_bytes()) == (set(), before)


def _dropped_rights() -> Callable[[], None] | None:
    """Return a function that drops root's right to write everywhere, None for other users."""
    if os.geteuid() != 0:
        return None
    libc = ctypes.CDLL(None)

    def drop() -> None:
        libc.prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0)

    return drop


def test_the_record_is_replaced_and_not_written_into(environment: FreshEnvironment) -> None:
    """RECORD is replaced, since an installer may have hard-linked it to its cache."""
    record(environment).chmod(0o664)
    linked = environment.folder / "cached"
    os.link(record(environment), linked)
    before = linked.read_bytes()
    morph(environment, "enable")
    assert linked.read_bytes() == before != record(environment).read_bytes()
    assert record(environment).stat().st_mode == linked.stat().st_mode
