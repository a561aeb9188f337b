"""`morph port` of folders with arbitrary contents: each bad file gives one line, and the rest is ported."""

import os
import pathlib
import subprocess

import pytest

from tests.commands import status

BEFORE = "import torch\n\nx = torch.ones(2).cuda()\n"
NAMES = ["e\x1b]0;title\x07\x1b[31m.py", os.fsdecode(b"\xff.py"), 'q"\\.py', "plain.py", "tab\t.py"]


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_bad_file_is_one_line(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    os.mkfifo("fifo.py")
    os.symlink("nowhere", "broken.py")
    (folder / "deep.py").write_text("y = " + "-" * 100_000 + "1  # cuda")
    (folder / "tall.py").write_text("y = " + "-" * 1_000 + "1  # cuda")
    (folder / "null.py").write_bytes(b"cuda = 1\0")
    (folder / "z.py").write_text(BEFORE)
    assert status("port", "--write", ".") == 1
    output = capsys.readouterr()
    assert output.out == "z.py\n"
    lines = output.err.splitlines()
    assert [line.partition(":")[0] for line in lines[:-1]] == [
        *("broken.py", "deep.py", "fifo.py", "null.py")
    ]
    assert lines[2] == "fifo.py:1: is no regular file"
    assert lines[-1] == "1 of 6 files changed, 0 uses of CUDA left, 4 files not read"


@pytest.mark.parametrize("name", NAMES)
def test_names_are_printed_as_one_plain_line(
    name: str, folder: pathlib.Path, capfdbinary: pytest.CaptureFixture[bytes]
) -> None:
    (folder / name).write_text(f"{BEFORE}torch.cuda.gds.GdsFile\n")
    status("port", ".")
    output = capfdbinary.readouterr()
    assert not {b"\x1b", b"\x07", b"\xff", b"\t"} & {bytes([byte]) for byte in output.out + output.err}
    assert len(output.err.splitlines()) == 2
    subprocess.run(["git", "apply", "-p1"], input=output.out, check=True)
    assert ".to(device)" in (folder / name).read_text()
    (folder / name).write_text(BEFORE)
    status("port", "--write", ".")
    assert len(capfdbinary.readouterr().out.splitlines()) == 1
