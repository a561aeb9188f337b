"""`morph check` of folders with arbitrary contents: each bad file gives one line, and the rest is read."""

import json
import os
import pathlib
import socket
from collections.abc import Iterator

import pytest

from morph.base.display import printable
from morph.source.scan import files
from morph.source.scan.scanning import scan
from tests.commands import status, terminal

GOOD = "import torch\ntorch.cuda.init()\n"
ESCAPES = "e\x1b]0;title\x07\x1b[31m.py"
NAMES = [ESCAPES, os.fsdecode(b"\xff.py"), "line\n.py", "[red].py", "[/].py", "\u202e.py"]


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "z.py").write_text(GOOD)
    return tmp_path


def refusals(*paths: str) -> dict[str, str]:
    """Returns the message for each file that is not read, having checked that the good one is."""
    report = scan(files.files(paths), ["cpu"])
    assert [str(each.file) for each in report.findings] == ["z.py"]
    return {str(each.file): each.message for each in report.unparsed}


def test_only_regular_files_are_opened(folder: pathlib.Path) -> None:
    os.mkfifo("fifo.py")
    os.mkfifo("fifo.cu")
    os.mkfifo("fifo.ipynb")
    os.symlink("/dev/zero", "device.py")
    with socket.socket(socket.AF_UNIX) as listening:
        listening.bind("socket.py")
        assert set(refusals(".").values()) == {"is no regular file"}
        assert len(refusals(".")) == 5
    assert refusals("fifo.py", "z.py") == {"fifo.py": "is no regular file"}


def test_links_and_folders(folder: pathlib.Path) -> None:
    os.symlink("nowhere", "broken.py")
    os.symlink("loop.py", "loop.py")
    os.symlink("/proc/self/mem", "mem.py")  # its first page nobody may read, not even root
    os.mkdir("folder.py")
    os.symlink("folder.py", "again.py")
    assert refusals(".") == {
        "broken.py": "cannot be read: No such file or directory",
        "loop.py": "cannot be read: Too many levels of symbolic links",
        "mem.py": "cannot be read: Input/output error",
    }


def test_a_folder_that_cannot_be_listed(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "closed").mkdir()
    really = os.scandir

    def refused(path: str) -> Iterator[os.DirEntry[str]]:
        if str(path).endswith("closed"):
            raise PermissionError(13, "Permission denied", str(path))
        return really(path)

    monkeypatch.setattr(os, "scandir", refused)
    assert refusals(".") == {"closed": "cannot be read: Permission denied"}


def test_what_the_parser_cannot_take(folder: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (folder / "deep.py").write_text("y = " + "-" * 100_000 + "1  # cuda")
    (folder / "sum.py").write_text("y = " + "+".join(["1"] * 20_000) + "  # cuda")
    (folder / "deep.ipynb").write_text('{"cells": ' + "[" * 5000 + "]" * 5000 + "}")
    (folder / "null.py").write_bytes(b"cuda = 1\0")
    (folder / "bytes.py").write_bytes(b"cuda = '\xff'")
    (folder / "text.ipynb").write_text("no JSON")
    monkeypatch.setattr(files, "LARGEST", 1)
    (folder / "large.py").write_bytes(b"#" * (1 << 20) + b"\n")
    said = refusals(".")
    assert said.keys() == {
        *("deep.py", "sum.py", "deep.ipynb", "null.py", "bytes.py", "text.ipynb", "large.py")
    }
    assert said["deep.py"] == said["sum.py"] == "nests too deeply to be read"
    assert said["large.py"] == "is larger than 1 MiB"
    assert said["text.ipynb"] == "is not a notebook of version 4"


@pytest.mark.parametrize("name", NAMES)
def test_names_are_printed_as_one_plain_line(
    name: str, folder: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "z.py").unlink()
    for each, text in ((name, f"{GOOD}import cupy\n"), (f"x{name}", "x = (\n")):
        (folder / each).parent.mkdir(exist_ok=True)
        (folder / each).write_text(text)
    status("check", ".")
    output = capsys.readouterr().out
    assert printable(output, keep="\n") == output
    assert f"\n    {printable(name)}:3\n" in output
    assert f"\nx{printable(name)}:1: '(' was never closed\n" in output
    shown, progress, ended = terminal.run("check", ".", cwd=folder)
    assert ended == 1
    assert printable(name) in shown.replace("\n", "")
    assert "\x07" not in shown + progress


def test_names_in_sarif_are_addresses(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / os.fsdecode(b"a \xff%.py")).write_text("x = (\n")
    os.symlink("loop.py", "loop.py")
    status("check", "--sarif", "-", ".")
    results = json.loads(capsys.readouterr().out)["runs"][0]["results"]
    places = [each["locations"][0]["physicalLocation"]["artifactLocation"]["uri"] for each in results]
    assert places == ["a%20%FF%25.py", "loop.py"]
