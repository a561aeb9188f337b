"""What commands do if their output is closed, if nothing can be written, or without torch."""

import os
import pathlib
import signal
import subprocess
import sys

import pytest

from morph.running import commands
from morph.running.commands import BROKEN_PIPE, INTERRUPTED
from tests.platforms import complete

EXPLAIN = ("explain", "torch.cuda.CUDAGraph")


def start(*words: str, **options: object) -> subprocess.Popen[str]:
    command = [sys.executable, "-m", "morph", *words]
    # lines are not buffered, so that the second one meets a closed pipe
    environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
    return subprocess.Popen(command, env=environment, stderr=subprocess.PIPE, text=True, **options)  # type: ignore[call-overload]


def test_a_reader_that_goes_away() -> None:
    read, write = os.pipe()
    os.close(read)
    for words, status in ((EXPLAIN, BROKEN_PIPE), (("--help",), BROKEN_PIPE), (("check", "absent"), 2)):
        process = start(*words, stdout=write)
        said = process.communicate()[1]
        assert process.returncode == status, said
        assert said == ("morph: there is no file or folder 'absent' to scan\n" if status == 2 else "")
    os.close(write)


def test_nothing_can_be_written(capsys: pytest.CaptureFixture[str], tmp_path: pathlib.Path) -> None:
    with open("/dev/full", "w") as full:
        process = start(*EXPLAIN, stdout=full)
        said = process.communicate()[1]
    assert (process.returncode, said) == (2, "morph: standard output: No space left on device\n")
    process = start(*EXPLAIN, preexec_fn=lambda: os.close(1))
    assert (process.communicate()[1], process.returncode) == ("", 0)
    file = tmp_path / "absent" / "page.html"
    assert commands.run(["coverage", "--html", str(file)]) == 2
    assert capsys.readouterr().err == f"morph: {file}: No such file or directory\n"
    for words in (["--report"], ["--rehearse", "npu", "--json"]):
        process = start(*words, str(file), "-c", "print('begun')", stdout=subprocess.PIPE)
        assert process.communicate() == ("", f"morph: cannot write {file}: No such file or directory\n")


def test_an_interruption() -> None:
    def interrupt() -> int:
        signal.raise_signal(signal.SIGINT)
        return 0

    assert commands.finished(interrupt) == INTERRUPTED


def test_torch_is_not_there() -> None:
    ask = "import sys; sys.modules['torch'] = None; from morph.running import commands; commands.run"
    for name in ("verify", "bench"):
        command = [sys.executable, "-c", f"{ask}([{name!r}])"]
        done = complete(command)
        assert (done.stdout, done.stderr) == ("", "morph: torch is not installed\n")
