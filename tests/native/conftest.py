"""A part in C++ that is quickly built."""

import pathlib

import pytest

SOURCE = """
#include <Python.h>
static PyModuleDef definition = {PyModuleDef_HEAD_INIT, "probe", nullptr, -1, nullptr};
PyMODINIT_FUNC PyInit_probe() { return PyModule_Create(&definition); }
"""


def write_source(folder: pathlib.Path) -> pathlib.Path:
    """Write the part's source below a folder, and return its path."""
    path = folder / "source" / "probe.cpp"
    path.parent.mkdir()
    path.write_text(SOURCE)
    return path


@pytest.fixture
def source(tmp_path: pathlib.Path) -> pathlib.Path:
    """The part's source."""
    return write_source(tmp_path)
