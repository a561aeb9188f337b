"""What morph hooks in torch is in every release, and takes what the hooks pass, but for known misfits."""

import json
import pathlib
import sys

import pytest
import torch

from morph.base import toml
from tests.platforms import Platform
from tests.releases.signatures import COMMAND, PLAIN, UNRECORDED, Hook, hooks, load, releases, signature

MISFITS = toml.loads(pathlib.Path(__file__).with_name("misfits.toml").read_text("utf-8"))
RECORDED, HOOKS, KNOWN = load(), hooks(), releases()
WRAPPED = """
    import json
    from morph.device import parameters
    names, original = [], parameters.on_import
    def noting(module, callback, journal, name):
        names.append(name)
        original(module, callback, journal, name)
    parameters.on_import = noting
    import morph
    morph.activate(BACKEND, simulated=True)
    print(json.dumps(names))
"""


def is_expected(name: str, release: str) -> bool:
    since, until = MISFITS[name].get("since", KNOWN[0]), MISFITS[name].get("until", KNOWN[-1])
    return KNOWN.index(since) <= KNOWN.index(release) <= KNOWN.index(until)


def recorded(name: str, release: str) -> str | None:
    return RECORDED.get(name, {}).get(release, UNRECORDED)


def test_hooks_are_recorded_for_every_release() -> None:
    missing = {
        release: names
        for release in KNOWN
        if (names := [name for name in HOOKS if recorded(name, release) == UNRECORDED])
    }
    assert missing == {}, f"to record them: {COMMAND} {' '.join(missing)}"


def test_nothing_else_is_recorded() -> None:
    assert set(RECORDED) <= set(HOOKS), f"a hook is gone: {COMMAND} leaves it out"


@pytest.mark.parametrize("release", KNOWN)
def test_hooks_fit_but_for_the_expected_misfits(release: str) -> None:
    found = {
        name: obstacle
        for name, hook in HOOKS.items()
        if (obstacle := hook.obstacle(recorded(name, release))) not in (None, UNRECORDED)
    }
    expected = {name for name in MISFITS if is_expected(name, release)}
    assert {name: found[name] for name in found if name not in expected} == {}
    assert expected - set(found) == set(), "these fit now: take them out of misfits.toml"


def test_misfits_are_sorted_and_are_hooks() -> None:
    assert list(MISFITS) == sorted(MISFITS)
    assert set(MISFITS) <= set(HOOKS)


def test_the_record_is_that_of_the_installed_torch() -> None:
    release = torch.__version__.partition("+")[0]
    if release not in KNOWN:
        pytest.skip(f"torch {release} is not recorded")
    imported = {name: own[release] for name, own in RECORDED.items() if name.partition(":")[0] in sys.modules}
    assert len(imported) > 10
    assert {name: signature(name) for name in imported} == imported


@pytest.mark.platforms("simulated-npu")
def test_every_wrapped_function_is_listed(platform: Platform) -> None:
    lines = "\n".join(line[4:] for line in WRAPPED.splitlines())
    done = platform.run(lines.replace("BACKEND", repr(platform.backend)), morph=False)
    wrapped = set(json.loads(done.stdout.splitlines()[-1]))
    assert len(wrapped) > 30
    assert wrapped - set(HOOKS) == set()


@pytest.mark.parametrize(
    ("hook", "signature", "obstacle"),
    [
        (Hook(takes=("b",)), "(self, a, *, b)", None),
        (Hook(takes=("c", "d")), "(a, **b)", "takes no c, d"),
        (Hook(takes=("c",)), "(a, **c)", "takes no c"),
        (Hook(takes=("a",)), PLAIN, "takes no a"),
        (Hook(), PLAIN, None),
        (Hook(), None, "absent"),
        (Hook(first=("a", "b")), "(self, a, b, /, c)", None),
        (Hook(first=("a", "b")), "(a, *, b)", "begins with a"),
        (Hook(first=("b",)), "(a, b)", "begins with a"),
        (Hook(), UNRECORDED, UNRECORDED),
    ],
)
def test_a_hook_fits_a_signature(hook: Hook, signature: str | None, obstacle: str | None) -> None:
    assert hook.obstacle(signature) == obstacle
