"""What plain Python runs, runs under morph: nothing that morph says, writes or measures can stop it."""

import os
import pathlib
import shlex
import sys

import pytest

from tests.launcher.conftest import Folder, Outcome
from tests.platforms import Platform, complete

pytestmark = pytest.mark.platforms("cpu")
as_root = pytest.mark.skipif(os.getuid() != 0, reason="only root can mount")

PROGRAM = """
import torch, sys
device = sys.argv[1] if len(sys.argv) > 1 else "cuda"
print("ran", torch.ones(2, device=device).sum().item())
"""
CHILD = "import subprocess, sys; sys.exit(subprocess.call([sys.executable, *sys.argv[1:]]))"


def shell(platform: Platform, script: str, **variables: str) -> tuple[int, str, str]:
    """Run a script of a shell in which ``$MORPH`` starts a program under morph; ``$PROGRAM`` is one."""
    environment = {key: value for key, value in platform.environment.items() if key != "MORPH_ANNOUNCED"}
    environment |= {"MORPH": shlex.join(platform.command(morph=True)), "PROGRAM": PROGRAM, "CHILD": CHILD}
    environment |= {"PYTHON": sys.executable, **variables}
    done = complete(["bash", "-c", script], env=environment)
    return done.returncode, done.stdout, done.stderr


@pytest.mark.parametrize(
    ("errors", "unbuffered"),
    [
        *(("2>/dev/full", ""), ("2>/dev/full", "1"), ("2> >(exec true)", "1"), ("2>&-", "")),
        pytest.param("2> >(exec true)", "", marks=pytest.mark.long),
        pytest.param("2>&-", "1", marks=pytest.mark.long),
    ],
)
def test_standard_error_that_cannot_be_written(platform: Platform, errors: str, unbuffered: str) -> None:
    done = shell(platform, f'$MORPH -c "$PROGRAM" {errors}', PYTHONUNBUFFERED=unbuffered)
    assert done == (0, "ran 2.0\n", "")


def test_standard_error_of_a_child_that_cannot_be_written(platform: Platform) -> None:
    script = '$MORPH -c "$CHILD" -c "$PROGRAM" 2>/dev/full'
    assert shell(platform, script) == (0, "ran 2.0\n", "")


def test_a_stream_of_the_programs_own(platform: Platform) -> None:
    program = "import sys; sys.stderr = type('Own', (), {'flush': lambda self: None})()" + PROGRAM
    assert shell(platform, f"$MORPH -c {shlex.quote(program)}") == (0, "ran 2.0\n", "")


READ_ONLY = """
for folder in /tmp /var/tmp
do mount --bind $folder $folder && mount -o remount,ro,bind $folder || exit 77
done
cd /proc
"$PYTHON" -c "$WITHOUT_DILL $PROGRAM" cpu && $MORPH --quiet -c "$WITHOUT_DILL $PROGRAM" cuda
"""


@as_root
def test_no_temporary_folder(platform: Platform) -> None:
    """A container with a read-only file system, and a warm cache."""
    platform.run(PROGRAM)
    without = "import sys; sys.modules['dill'] = None\n"  # which torch imports, and which needs a folder
    script = f"unshare -m bash -c {shlex.quote(READ_ONLY)}"
    status, output, errors = shell(platform, script, WITHOUT_DILL=without)
    if status == 77 or "unshare" in errors:
        pytest.skip(f"nothing can be mounted here: {errors}")
    assert (status, output, errors) == (0, "ran 2.0\nran 2.0\n", "")


ASKS = "import sys; print('ran', sys.path[0])"  # `import torch` ends there: "oneMKL FATAL ERROR"
GONE = 'mkdir "$HERE/gone"; cd "$HERE/gone"; rmdir "$HERE/gone"; '


@pytest.mark.parametrize("words", ['"$HERE/program.py"', '-c "$PROGRAM"', "-m this", "-"])
@pytest.mark.parametrize("above", ["", '-c "$CHILD"'])
def test_a_current_folder_that_was_deleted(
    platform: Platform, tmp_path: pathlib.Path, words: str, above: str
) -> None:
    (tmp_path / "program.py").write_text(ASKS)
    variables = {"HERE": str(tmp_path), "MORPH_QUIET": "1", "PROGRAM": ASKS}
    plain, ours = (
        shell(platform, f"{GONE} echo 'print(1)' | {start} {above} {words}", **variables)
        for start in ("$PYTHON", "$MORPH")
    )
    assert ours == plain
    assert ours[0] == 0


def test_a_script_of_a_deleted_folder(platform: Platform, tmp_path: pathlib.Path) -> None:
    status, output, errors = shell(platform, f"{GONE} $MORPH program.py", HERE=str(tmp_path))
    assert (status, output) == (2, "")
    assert "can't open file 'program.py': [Errno 2] No such file or directory" in errors
    assert "Traceback" not in errors


def test_modules_beside_the_program_that_are_called_as_others(folder: Folder) -> None:
    for name in ("psutil", "platformdirs", "filelock", "rich", "wrapt", "grp", "pwd"):
        folder.write(f"{name}.py", "is_mine = True\n")
    uses = "import psutil; assert psutil.is_mine\n"
    program = f"{uses}{PROGRAM}"
    properties = "p = torch.cuda.get_device_properties(0); assert p.multi_processor_count > 0\n"
    file = folder.write("program.py", program + properties + uses)
    assert folder.morph(file) == Outcome(0, "ran 2.0\n", "")
