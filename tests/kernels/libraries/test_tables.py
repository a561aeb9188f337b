"""Every exported name of a served library has one status, and what is said to be served is."""

import ctypes

import pytest

from morph.backends.tables import library

FILES = [(name, file) for name in library.names() for file in library.load(name).releases]


@pytest.mark.parametrize(("name", "file"), FILES)
def test_every_name_has_a_status(name, file):
    table = library.load(name)
    exported = table.releases[file]
    assert len(exported) == len({*exported}) > 20
    assert [each for each in exported if table.entry(each).note == f"{name} has no such name"] == []
    assert all(table.entry(each).note for each in exported)


@pytest.mark.parametrize("name", library.names())
def test_every_row_is_of_an_exported_name(name):
    table = library.load(name)
    exported = {library.base(each) for names in table.releases.values() for each in names}
    exported |= {spelled for each in exported for spelled in table.spellings(each)}
    prefixes = tuple(exported)
    idle = [
        row
        for row in table.rows
        if not (any(each.startswith(row[:-1]) for each in prefixes) if row.endswith("*") else row in exported)
    ]
    assert idle == []
    rows = {name: set(vendor.calls) for name, vendor in table.vendors.items()}
    assert {vendor: names - exported for vendor, names in rows.items() if names - exported} == {}


@pytest.mark.parametrize(("name", "file"), FILES)
def test_exported_symbols_are_those_of_the_table(worker, name, file):
    worker.call(check_symbols, {"name": name, "file": file})


def check_symbols(name, file):
    import torch  # noqa: F401  (which begins the activation)

    table, loaded = library.load(name), ctypes.CDLL(file)  # loading fails where a served name has no function
    absent = {each for each in table.releases[file] if table.entry(each).status == "absent"}
    assert {each for each in table.releases[file] if not hasattr(loaded, each)} == absent
