"""A notebook's cells are scanned as one module, and uses have the line numbers of its file."""

from __future__ import annotations

import json
import pathlib

import pytest

from morph.source.scan.scanning import uses_of_file

CELLS = [
    ("markdown", ["`torch.cuda`\n"]),
    ("code", ["%matplotlib inline\n", "!nvidia-smi -L\n", "import torch\n", "torch.cuda.init()"]),
    ("code", ["%%bash\n", "echo cuda:0"]),
    ("code", ["for x in ():\n", "    %time x.cuda()\n", "    x.cuda?\n", "    %load_ext cuda"]),
    ("code", "y.cuda()\nz.cuda()"),
]


def test_uses_are_on_the_lines_of_the_file(tmp_path: pathlib.Path) -> None:
    cells = [
        {"cell_type": kind, "metadata": {"hidden": True, "id": None}, "source": source}
        for kind, source in CELLS
    ]
    file = tmp_path / "notes.ipynb"
    file.write_text(json.dumps({"cells": cells, "nbformat": 4}, indent=1), encoding="utf-8")
    found = {(use.place.line, use.name) for use in uses_of_file(file)}
    lines = file.read_text().splitlines()
    shell, start, timed, text = (
        next(number for number, line in enumerate(lines, 1) if word in line)
        for word in ("nvidia-smi", "init()", "%time", "y.cuda")
    )
    assert found == {
        (shell, "os.system('nvidia-smi -L')"),
        (start, "torch.cuda.init"),
        (timed, ".cuda()"),
        (text, ".cuda()"),
        (text + 1, ".cuda()"),
    }


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"worksheets": []}', "{not json}", "\0"])
def test_what_is_no_notebook(content: str, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "notes.ipynb"
    file.write_text(content)
    with pytest.raises(ValueError, match="is not a notebook of version 4"):
        uses_of_file(file)
