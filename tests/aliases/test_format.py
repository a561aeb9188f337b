"""The format of the tables: what is read, and how a malformed row is reported."""

from collections.abc import Callable

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


def test_a_row_may_stand_for_two_spellings() -> None:
    text = f'{BACKEND}[renamed]\n"torch.cuda(.memory).x" = "torch.specimen.y"'
    rows = table.parse(text, "aliases/specimen.toml").rows
    assert {name: row.name for name, row in rows.items()} == {
        "torch.cuda.x": "torch.cuda.x",
        "torch.cuda.memory.x": "torch.cuda.memory.x",
    }
    assert {row.target for row in rows.values()} == {"torch.specimen.y"}


def test_shared_rows_give_way_to_the_table_s_own() -> None:
    own = '[missing]\n"torch.cuda.gds" = "not here"\n'
    rows = table.parse(f"{BACKEND}shared_rows = true\n{own}", "aliases/specimen.toml").rows
    assert (rows["torch.cuda.gds"].note, rows["torch.cuda.has_half"].status) == ("not here", Status.SAME)
    assert {*table.parse(BACKEND + own, "aliases/specimen.toml").rows} == {"torch.cuda.gds"}


def row(section: str, entry: str) -> str:
    return f'[{section}]\n"torch.cuda.x" = {entry}'


def adapted(entry: str) -> str:
    return row("adapted", f'{{ adapter = "a:b", {entry} }}')


# what follows the section of the backend, and what is said of it
ROWS = {
    'process_group = "ProcessGroupSCCL"': ":8: process_group: 'ProcessGroupSCCL' is not a dotted name",
    "order = true": ":8: order: True should be int",
    "native = [3]": ":8: native: [3] should be a list of strings",
    "[sames]": ":8: sames: unknown section; the sections are backend, environment, since",
    row("missing", "1"): ":9: torch.cuda.x: 1 should be the reason, a string",
    row("missing", '""'): ":9: torch.cuda.x: '' should be the reason",
    row("renamed", '"no name"'): "target 'no name' is not a dotted name",
    row("adapted", '{ adapter = "no colon" }'): "is not of the form package.module:object",
    row("adapted", '{ target = "torch.specimen.x" }'): 'should be { adapter = "module:object"',
    adapted("target = 5"): ":9: torch.cuda.x: 5 should be the target, a string",
    adapted('target = ""'): ":9: torch.cuda.x: '' should be the target, a string",
    adapted('target = "not a name"'): ":9: torch.cuda.x: target 'not a name' is not a dotted name",
    adapted('difference = ["x"]'): "should be the difference, a string",
    adapted('difference = ""'): "should be the difference, a string",
    adapted("difference = 3"): "should be the difference, a string",
    row("noop", "{ value = 1, note = 7 }"): ":9: torch.cuda.x: 7 should be the note, a string",
    "[missing]\ntorch.cuda.x = 'unquoted'": 'quote it: "torch.cuda.name"',
    row("missing", '"a"\n') + row("noop", '"b"'): ":11: torch.cuda.x: has two statuses, missing and noop",
    row("missing", '"a"') + '\n[until]\n"new" = ["torch.cuda.x"]': (
        ":11: new: should be a release and the names of rows"
    ),
    "[since]\n2.9 = 3": ":9: 2: should be a release and the names of rows",
    '[since]\n"2.9" = [["a"]]': ":9: 2.9: ['a'] has no row that could begin",
    '[since]\n"2.9" = ["torch.cuda.x"]': ":9: 2.9: torch.cuda.x has no row that could begin",
    '[until]\n"2.9" = ["torch.cuda.x"]': ":9: 2.9: torch.cuda.x has no row that could end",
}
WHOLE = {
    "[backend": ":1: not TOML: ",
    "[backend]\nname = 1": ":2: name: 1 should be str",
    '[backend]\nnames = "a"': ":2: names: unknown key of [backend]; the keys are name",
    '[backend]\nname = "a"': "missing 5 required",
    "backend = 3": ":1: backend: 3 should be a section",
    f"since = 3\n{BACKEND}": ":1: since: 3 should be a section",
    f"until = []\n{BACKEND}": ":1: until: [] should be a section",
    f"environment = 3\n{BACKEND}": ":1: environment: ",
    f"missing = 3\n{BACKEND}": ":1: missing: should be a section of rows",
}
FACTS = {
    "[backend]\nname = specimen\n": ":2: not TOML",
    BACKEND.replace('"sccl"', "1"): ":7: collective: 1 should be str",
    "": "backend: section missing",
}


@pytest.mark.parametrize(
    ("parse", "text", "said"),
    [
        *[(table.parse, BACKEND + text, said) for text, said in ROWS.items()],
        *[(table.parse, text, said) for text, said in WHOLE.items()],
        *[(parsing.parse_facts, text, said) for text, said in FACTS.items()],
    ],
)
def test_what_is_malformed_is_one_line_with_file_and_line(
    parse: Callable[[str, str], object], text: str, said: str
) -> None:
    with pytest.raises(TableError) as caught:
        parse(text, "aliases/specimen.toml")
    message = str(caught.value)
    assert said in message
    assert message.startswith("aliases/specimen.toml:")
    assert "\n" not in message


def test_a_backend_without_a_table_names_those_that_have_one() -> None:
    with pytest.raises(UnknownBackendError) as caught:
        table.load("hpu")
    assert str(caught.value).startswith("there is no backend 'hpu'; the backends are ")


@pytest.mark.parametrize("name", table.backend_names())
def test_the_facts_are_those_of_the_whole_table(name: str) -> None:
    assert table.facts(name) == table.whole(name).facts


def test_the_facts_are_read_without_the_rows() -> None:
    text = f'{BACKEND}order = 3\nnative = [\n    "a",\n]\n[same]\n"torch.cuda.a" = 3\n'
    facts = parsing.parse_facts(text, "aliases/specimen.toml")
    assert (facts.order, facts.native) == (3, ("a",))
