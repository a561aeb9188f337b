"""`morph port`: what it prints and writes, and its exit status."""

import errno
import os
import pathlib
import subprocess

import pytest

from tests import commands

BEFORE = "import torch\n\nx = torch.ones(2).cuda()  # here\n"
DEVICE = 'device = torch.accelerator.current_accelerator(check_available=True) or torch.device("cpu")'
AFTER = f"import torch\n\n{DEVICE}\n\nx = torch.ones(2).to(device)  # here\n"


@pytest.fixture
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "package").mkdir()
    (tmp_path / "package" / "model.py").write_text(BEFORE)
    (tmp_path / "package" / "plain.py").write_text("import torch\n")
    return tmp_path


def status(*words: str) -> int:
    return commands.status("port", *words)


def test_a_diff_is_printed_that_patch_takes(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("package") == status("--diff", "package") == 0
    model = folder / "package" / "model.py"
    assert model.read_text() == BEFORE
    output = capsys.readouterr()
    diff = output.out[: len(output.out) // 2]
    assert diff == output.out[len(output.out) // 2 :]
    assert output.err.splitlines() == ["1 of 2 files to change, 0 uses of CUDA left"] * 2
    subprocess.run(["git", "apply", "-p1"], input=diff, text=True, check=True)
    assert model.read_text() == AFTER


def test_files_are_written(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert status("--write", "package") == 0
    assert capsys.readouterr().out == "package/model.py\n"
    assert (folder / "package" / "model.py").read_text() == AFTER
    assert status("--write", "package") == 0
    assert capsys.readouterr().out == ""


def test_what_is_left_is_listed(folder: pathlib.Path, capsys: pytest.CaptureFixture[str]) -> None:
    (folder / "left.py").write_text(
        "import torch\ntorch.cuda.gds.GdsFile\ntorch.cuda.get_device_capability()\nimport cupy\n"
    )
    (folder / "old.py").write_text("print 'cuda'\n")
    assert status("left.py", "old.py") == 1
    assert capsys.readouterr().err.splitlines() == [
        "left.py:2: cannot port torch.cuda.gds.GdsFile: it has no device-independent equivalent",
        "left.py:3: look at torch.cuda.get_device_capability: other vendors have other numbers, or (0, 0)",
        "left.py:4: cannot port cupy: take a path of the program without it",
        "old.py:1: Missing parentheses in call to 'print'. Did you mean print(...)?",
        "1 of 2 files to change, 3 uses of CUDA left, 1 file not read",
    ]


def test_files_of_every_kind(folder: pathlib.Path, capfdbinary: pytest.CaptureFixture[bytes]) -> None:
    """Bytes are preserved, an unreadable file gives one line, and git accepts the diff."""
    sources = {
        "ends.py": b"import torch\r\nx.cuda()\r\n",
        "feed.py": b"import torch\n\x0c\nx.cuda()",
        "latin.py": b"# coding: latin-1\nimport torch\n# \xe9\nx.cuda()\n",
        "mark.py": b"\xef\xbb\xbfimport torch\nx.cuda()\n",
        "bad.py": b"import torch\n# \xe9\nx.cuda()\n",
        "none.py": b"import torch\n\0x.cuda()\n",
        "notes.ipynb": b'{"cells": []}',
    }
    for name, content in sources.items():
        (folder / name).write_bytes(content)
    (folder / "link.py").symlink_to("mark.py")
    assert status(*sources) == 1
    captured = capfdbinary.readouterr()
    subprocess.run(["git", "apply", "--check", "-p1"], input=captured.out, check=True)
    assert captured.err.decode().splitlines() == [
        "bad.py:1: 'utf-8' codec can't decode byte 0xe9 in position 15: invalid continuation byte",
        "none.py:1: source code string cannot contain null bytes",
        "notes.ipynb:1: cannot port a notebook: make a script of it by jupyter nbconvert --to script",
        "4 of 7 files to change, 0 uses of CUDA left, 3 files not read",
    ]
    assert status("--write", "ends.py", "feed.py", "latin.py", "link.py") == 0
    assert (folder / "ends.py").read_bytes().endswith(b"\r\nx.to(device)\r\n")
    assert (folder / "feed.py").read_bytes().endswith(b"\x0c\nx.to(device)")
    assert (folder / "latin.py").read_bytes().endswith(b"# \xe9\nx.to(device)\n")
    assert (folder / "mark.py").read_bytes().startswith(b"\xef\xbb\xbfimport torch\n")
    assert (folder / "link.py").is_symlink()


def test_a_file_that_cannot_be_written_stays(
    folder: pathlib.Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*names: object) -> None:
        raise OSError(errno.EROFS, os.strerror(errno.EROFS))

    monkeypatch.setattr(os, "replace", refuse)  # root can write every file
    assert status("--write", "package") == 2
    assert capsys.readouterr().err == "morph: cannot write package/model.py: Read-only file system\n"
    assert sorted(file.name for file in (folder / "package").iterdir()) == ["model.py", "plain.py"]
    assert (folder / "package" / "model.py").read_text() == BEFORE
