"""Calls of operators end as they ended on a real card; `recorded.py` compares all of them."""

import pytest

EVERY, GROUPS = 24, 8


@pytest.mark.parametrize("group", range(GROUPS))
def test_calls_end_as_on_a_card(group):
    pytest.importorskip("expecttest", reason="torch's own tests need it")
    from tests.software.cuda import recorded

    compared, different = 0, []
    for name in sorted(recorded.record()["outcomes"])[::EVERY][group::GROUPS]:
        calls, found = recorded.differences(name)
        compared, different = compared + calls, different + found
    assert compared > 50
    assert not different, "\n".join(different)
