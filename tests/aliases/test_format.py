"""The format of the tables: what is read, and how a malformed row is reported."""

from __future__ import annotations

import pytest

from morph.backends.tables import parsing, table
from morph.backends.tables.table import Status
from morph.base.errors import TableError, UnknownBackendError

BACKEND = """[backend]
name = "specimen"
title = "Specimen"
device_type = "specimen"
dispatch_key = "PrivateUse1"
module = "torch.specimen"
collective = "sccl"
"""


def test_each_section_is_a_status() -> None:
    rows = table.parse(
        BACKEND
        + """
[same]
"torch.cuda.a" = "neutral of the device"
[renamed]
"torch.cuda.b" = "torch.specimen.bee"
[adapted]
"torch.cuda.c" = { target = "torch.specimen.c", adapter = "package.module:function", difference = "units" }
[emulated]
"torch.cuda.d" = { adapter = "package.module:Class" }
[noop]
"torch.cuda.e" = "nothing to do"
"torch.cuda.f" = { value = 0, note = "always" }
[missing]
"torch.cuda.g" = "no such thing"
""",
        "aliases/specimen.toml",
    ).rows
    assert [row.status for row in rows.values()] == [*list(Status)[:5], Status.NOOP, Status.MISSING]
    assert rows["torch.cuda.b"].target == "torch.specimen.bee"
    assert rows["torch.cuda.c"].adapter == "package.module:function"
    assert rows["torch.cuda.f"].value == 0


def test_a_missing_submodule_covers_its_names_but_not_their_own_rows() -> None:
    text = (
        BACKEND
        + '[missing]\n"torch.cuda.gds" = "none"\n[renamed]\n"torch.cuda.gds.one" = "torch.specimen.one"'
    )
    parsed = table.parse(text, "aliases/specimen.toml")
    covered, own = parsed.row("torch.cuda.gds.other"), parsed.row("torch.cuda.gds.one")
    assert covered is not None and covered.status is Status.MISSING  # noqa: PT018
    assert own is not None and own.status is Status.RENAMED  # noqa: PT018
    assert parsed.row("torch.cuda.gdsx") is None


ADAPTED = f'{BACKEND}[adapted]\n"torch.cuda.x" = {{ adapter = "a:b", %s }}'
TARGETS = [
    ("5", "5 should be the target, a string"),
    ('""', "'' should be the target, a string"),
    ('"not a name"', "target 'not a name' is not a dotted name"),
]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[backend", "aliases/specimen.toml:1: not TOML: "),
        ("[backend]\nname = 1", "aliases/specimen.toml:2: name: 1 should be str"),
        (
            '[backend]\nnames = "a"',
            "aliases/specimen.toml:2: names: unknown key of [backend]; the keys are name",
        ),
        ('[backend]\nname = "a"', "missing 5 required"),
        (
            BACKEND + 'process_group = "ProcessGroupSCCL"',
            "specimen.toml:8: process_group: 'ProcessGroupSCCL' is not a dotted name",
        ),
        (
            BACKEND + "[sames]",
            "aliases/specimen.toml:8: sames: unknown section; the sections are backend, environment, since",
        ),
        (
            BACKEND + '[missing]\n"torch.cuda.x" = 1',
            "specimen.toml:9: torch.cuda.x: 1 should be the reason, a string",
        ),
        (
            BACKEND + '[missing]\n"torch.cuda.x" = ""',
            "specimen.toml:9: torch.cuda.x: '' should be the reason",
        ),
        (BACKEND + '[renamed]\n"torch.cuda.x" = "no name"', "target 'no name' is not a dotted name"),
        (
            BACKEND + '[adapted]\n"torch.cuda.x" = { adapter = "no colon" }',
            "is not of the form package.module:object",
        ),
        (
            BACKEND + '[adapted]\n"torch.cuda.x" = { target = "torch.specimen.x" }',
            'should be { adapter = "module:object"',
        ),
        (BACKEND + "[missing]\ntorch.cuda.x = 'unquoted'", 'quote it: "torch.cuda.name"'),
        (
            BACKEND + '[missing]\n"torch.cuda.x" = "a"\n[noop]\n"torch.cuda.x" = "b"',
            "specimen.toml:11: torch.cuda.x: has two statuses, missing and noop",
        ),
        (
            BACKEND + '[missing]\n"torch.cuda.x" = "a"\n[until]\n"new" = ["torch.cuda.x"]',
            "specimen.toml:11: new: should be a release and the names of rows",
        ),
        *[
            (ADAPTED % f"target = {value}", f"specimen.toml:9: torch.cuda.x: {said}")
            for value, said in TARGETS
        ],
        *[
            (ADAPTED % f"difference = {value}", "should be the difference, a string")
            for value in ('["x"]', '""', "3")
        ],
        (
            BACKEND + '[noop]\n"torch.cuda.x" = { value = 1, note = 7 }',
            "9: torch.cuda.x: 7 should be the note, a string",
        ),
        ("backend = 3", "aliases/specimen.toml:1: backend: 3 should be a section"),
        (f"since = 3\n{BACKEND}", "aliases/specimen.toml:1: since: 3 should be a section"),
        (f"until = []\n{BACKEND}", "aliases/specimen.toml:1: until: [] should be a section"),
        (f"environment = 3\n{BACKEND}", "aliases/specimen.toml:1: environment: "),
        (f"missing = 3\n{BACKEND}", "aliases/specimen.toml:1: missing: should be a section of rows"),
        (BACKEND + "[since]\n2.9 = 3", "specimen.toml:9: 2: should be a release and the names of rows"),
        (BACKEND + '[since]\n"2.9" = [["a"]]', "specimen.toml:9: 2.9: ['a'] has no row that could begin"),
        (BACKEND + "order = true", "specimen.toml:8: order: True should be int"),
        (BACKEND + "native = [3]", "specimen.toml:8: native: [3] should be a list of strings"),
        (BACKEND + '[until]\n"2.9" = ["torch.cuda.x"]', "2.9: torch.cuda.x has no row that could end"),
        (BACKEND + '[since]\n"2.9" = ["torch.cuda.x"]', "2.9: torch.cuda.x has no row that could begin"),
    ],
)
def test_a_malformed_row_is_one_line_with_file_and_line(text: str, said: str) -> None:
    with pytest.raises(TableError) as caught:
        table.parse(text, "aliases/specimen.toml")
    message = str(caught.value)
    assert said in message
    assert message.startswith("aliases/specimen.toml:")
    assert "\n" not in message


def test_a_backend_without_a_table_names_those_that_have_one() -> None:
    with pytest.raises(UnknownBackendError) as caught:
        table.load("tpu")
    assert str(caught.value).startswith("there is no backend 'tpu'; the backends are ")


@pytest.mark.parametrize("name", table.backend_names())
def test_the_facts_are_those_of_the_whole_table(name: str) -> None:
    assert table.facts(name) == table.whole(name).facts


def test_the_facts_are_read_without_the_rows() -> None:
    text = f'{BACKEND}order = 3\nnative = [\n    "a",\n]\n[same]\n"torch.cuda.a" = 3\n'
    facts = parsing.parse_facts(text, "aliases/specimen.toml")
    assert (facts.order, facts.native) == (3, ("a",))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[backend]\nname = specimen\n", "aliases/specimen.toml:2: not TOML"),
        (BACKEND.replace('"sccl"', "1"), "aliases/specimen.toml:7: collective: 1 should be str"),
        ("", "backend: section missing"),
    ],
)
def test_malformed_facts_are_one_line_with_file_and_line(text: str, said: str) -> None:
    with pytest.raises(TableError) as caught:
        parsing.parse_facts(text, "aliases/specimen.toml")
    assert said in str(caught.value)
