"""Activation in real processes: early, late, twice, half-way, undone."""

from __future__ import annotations

import inspect
import textwrap

import pytest

import morph
from tests.platforms import Platform

SPELLINGS = """
    import importlib, sys
    import torch, torch.cuda.amp
    from torch.cuda import amp
    assert amp is torch.cuda.amp is sys.modules["torch.cuda.amp"] is importlib.import_module("torch.cuda.amp")
    from torch.cuda.amp import autocast
    from torch.cuda.amp.autocast_mode import autocast as deep
    assert autocast is deep is torch.cuda.amp.autocast
    assert torch.cuda.is_available() and torch.ones(1).cuda().is_cuda
"""


def script(platform: Platform, text: str, before: str = "") -> str:
    backend = platform.name.removeprefix("simulated-")
    arguments = f"{backend!r}, simulated={platform.name.startswith('simulated')}"
    done = platform.run(textwrap.dedent(text).replace("BACKEND", arguments), morph=False)
    return done.stderr


@pytest.mark.long_on("simulated-npu")
def test_early_before_torch(platform: Platform) -> None:
    script(platform, f"import morph; morph.activate(BACKEND)\n{textwrap.dedent(SPELLINGS)}")


@pytest.mark.long_on("simulated-npu")
def test_late_after_torch(platform: Platform) -> None:
    script(platform, f"import torch, morph; morph.activate(BACKEND)\n{textwrap.dedent(SPELLINGS)}")


@pytest.mark.platforms("cpu")
def test_early_where_the_import_of_torch_would_load_a_vendors_broken_package(platform: Platform) -> None:
    platform.run(
        "import os; os.environ.pop('TORCH_DEVICE_BACKEND_AUTOLOAD', None)\n"
        "import morph; assert morph.activate('cpu').active",
        morph=False,
    )


COLLECTIONS = """
    import gc
    from morph import activation
    activation.arm(BACKEND)
    full = []
    gc.callbacks.append(lambda phase, about: full.append(about) if about["generation"] == 2 else None)
    import torch
    assert gc.isenabled()
    assert not full
"""


@pytest.mark.platforms("cpu", "npu")
def test_importing_torch_sets_off_no_full_collection(platform: Platform) -> None:
    script(platform, COLLECTIONS)


@pytest.mark.platforms("cpu", "npu")  # starting a simulated device imports torch
def test_armed_and_activated_by_the_import(platform: Platform) -> None:
    text = (
        "from morph import activation; activation.arm(BACKEND); import sys; assert 'torch' not in sys.modules"
    )
    script(platform, f"{text}\n{textwrap.dedent(SPELLINGS)}")


@pytest.mark.platforms("cpu")
@pytest.mark.parametrize("waits", ["morph.wait_for_torch()", "activation.arm('cpu')"])
def test_deactivated_before_torch_is_imported(platform: Platform, waits: str) -> None:
    text = f"""
        import sys
        import morph
        from morph import activation
        path = list(sys.meta_path)
        {waits}
        assert sys.meta_path != path and "torch" not in sys.modules
        morph.deactivate()
        assert sys.meta_path == path
        import torch
        assert not morph.status().active and not torch.cuda.is_available()
    """
    platform.run(textwrap.dedent(text), morph=False, environment={"MORPH_BACKEND": "cpu"})


@pytest.mark.long_on("npu", "simulated-npu")
def test_says_one_line_at_start(platform: Platform) -> None:
    stderr = script(platform, "import morph; morph.activate(BACKEND); morph.activate(BACKEND)")
    said = [line for line in stderr.splitlines() if line.startswith("morph: ")]
    assert len(said) == 1
    assert f"cuda is {platform.backend}" in said[0]


@pytest.mark.long_on("npu", "simulated-npu")
def test_twice_is_once_another_is_refused_and_a_block_ends(platform: Platform) -> None:
    script(
        platform,
        """
        import morph, morph.base.errors
        first = morph.activate(BACKEND)
        import torch
        cuda = torch.cuda
        assert morph.activate(BACKEND) == first and morph.activate() == first
        assert torch.cuda is cuda

        other = "cpu" if first.backend == "npu" else "npu"
        try:
            morph.activate(other)
        except morph.base.errors.ActivationError as error:
            assert "deactivate()" in str(error), error
        else:
            raise AssertionError
        assert morph.status().backend == first.backend

        with morph.activated() as inner:
            assert inner == first
        assert morph.status().active, "it was active before"
        morph.deactivate()
        assert not morph.status().active
        morph.deactivate()

        own = torch.cuda
        try:
            with morph.activated(BACKEND) as status:
                assert status.active and torch.cuda.is_available()
                raise KeyError
        except KeyError:
            pass
        assert torch.cuda is own and not morph.status().active
        """,
    )


@pytest.mark.platforms("cpu")
def test_a_block_takes_what_an_activation_takes(platform: Platform) -> None:
    asked = inspect.signature(morph.activate).parameters
    assert list(inspect.signature(morph.activated).parameters.items()) == list(asked.items())
    script(
        platform,
        """
        import torch, morph
        arguments = dict(devices=3, device_memory="1GiB", packages=["mytrainer"])
        with morph.activated("cpu", **arguments):
            assert torch.cuda.device_count() == 3
            assert torch.cuda.get_device_properties(0).total_memory == 1 << 30
        """,
    )


@pytest.mark.platforms("cpu")
def test_the_last_block_of_all_threads_ends_the_activation(platform: Platform) -> None:
    script(
        platform,
        """
        import threading
        import torch, morph
        is_inside, may_end, seen = threading.Event(), threading.Event(), []

        def in_another_thread():
            with morph.activated("cpu"), morph.activated():
                is_inside.set()
                may_end.wait(60)
                seen.append(torch.ones(1, device="cuda").is_cuda)

        thread = threading.Thread(target=in_another_thread)
        with morph.activated("cpu"):
            thread.start()
            assert is_inside.wait(60)
        assert morph.status().active, "the other thread's block has not ended"
        may_end.set()
        thread.join()
        assert seen == [True] and not morph.status().active
        """,
    )


@pytest.mark.platforms("cpu")
def test_a_block_ends_no_activation_of_the_program(platform: Platform) -> None:
    script(
        platform,
        """
        import morph
        with morph.activated("cpu"):
            morph.activate()
        assert morph.status().active, "the program has activated too"
        morph.deactivate()
        with morph.activated("cpu"):
            morph.deactivate()
            assert not morph.status().active
            morph.activate("cpu")
        assert morph.status().active, "the block's own activation had ended"
        """,
    )


@pytest.mark.platforms("cpu")
@pytest.mark.parametrize("waits", ["morph.wait_for_torch()", "activation.arm('cpu')"])
def test_a_block_before_torch_leaves_a_program_under_morph(platform: Platform, waits: str) -> None:
    text = f"""
        import morph
        from morph import activation
        {waits}
        with morph.activated():
            import torch
        assert morph.status().active
    """
    platform.run(textwrap.dedent(text), morph=False, environment={"MORPH_BACKEND": "cpu"})


@pytest.mark.platforms("cpu")
def test_torch_asks_the_software_device_again_when_morph_is_activated_again(platform: Platform) -> None:
    script(
        platform,
        """
        import torch, morph
        for _ in range(2):
            with morph.activated(BACKEND):
                generator = torch.Generator(device="cuda").manual_seed(3)
                assert torch.rand(2, device="cuda", generator=generator).is_cuda
                assert torch.ones(2).pin_memory().is_pinned()
            try:
                torch.Generator(device="cuda")
            except RuntimeError as error:
                assert "without ATen_cuda library" in str(error), "torch's own answer"
            else:
                raise AssertionError
        """,
    )


@pytest.mark.platforms("simulated-npu")  # its device stays once started; the others: test_traces.py
def test_deactivation_restores_every_object_by_identity(platform: Platform) -> None:
    script(
        platform,
        """
        import os, sys, types
        import torch, morph
        import torch.distributed, torch.utils.data, torch.profiler

        def snapshot():
            seen = {}
            for name, module in list(sys.modules.items()):
                if name.partition(".")[0] == "torch" and module is not None:
                    seen[name] = module
                    for attribute, value in list(vars(module).items()):
                        seen[name, attribute] = value
                        if isinstance(value, type) and getattr(value, "__module__", "").startswith("torch"):
                            for member, held in list(vars(value).items()):
                                seen[name, attribute, member] = held
            return seen

        morph.activate(BACKEND)  # whatever is imported or initialised by the first activation stays
        torch.ones(1, device="cuda")
        morph.deactivate()
        before, path, environment = snapshot(), list(sys.meta_path), dict(os.environ)
        for _ in range(3):
            morph.activate(BACKEND)
            torch.ones(1, device="cuda")
            morph.deactivate()
        after = snapshot()
        ignored = {"__warningregistry__", "_cached_device_count"}  # Python's and the vendor's own memory
        changed = [key for key in before if after.get(key) is not before[key] and not ignored & {key[-1]}]
        assert not changed, changed[:20]
        assert sys.meta_path == path and dict(os.environ) == environment
        """,
    )


@pytest.mark.long_on("simulated-npu")
def test_an_activation_that_fails_half_way_applies_nothing(platform: Platform) -> None:
    script(
        platform,
        """
        import sys, torch, morph
        from morph.activation import installation
        morph.activate(BACKEND)  # a simulated device stays, and waits for Dynamo
        morph.deactivate()
        own, path = torch.cuda, list(sys.meta_path)
        working = installation._make_active

        def failing(*arguments):
            working(*arguments)
            raise RuntimeError("half-way")

        installation._make_active = failing
        try:
            morph.activate(BACKEND)
        except RuntimeError as error:
            assert str(error) == "half-way"
        else:
            raise AssertionError
        assert torch.cuda is own and sys.modules["torch.cuda"] is own and sys.meta_path == path
        assert not morph.status().active
        installation._make_active = working
        assert morph.activate(BACKEND).active
        """,
    )


@pytest.mark.long_on("npu", "simulated-npu")
def test_threads_activating_at_once_get_one_activation(platform: Platform) -> None:
    script(
        platform,
        """
        import threading, morph
        results, barrier = [], threading.Barrier(8)

        def run():
            barrier.wait()
            results.append(morph.activate(BACKEND))

        threads = [threading.Thread(target=run) for _ in range(8)]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
        import torch
        assert len(results) == 8 and all(status.active for status in results)
        assert torch.cuda.is_available()
        assert type(getattr(torch.cuda, "__wrapped__", torch.cuda)).__name__ == "module"
        """,
    )


@pytest.mark.platforms("cpu")
def test_help_shows_what_there_is_without_torch(platform: Platform) -> None:
    shows = """
        import pydoc, sys
        import morph
        assert "torch" not in sys.modules
        assert {*morph.__all__, "__version__"} <= {*dir(morph)}
        assert "morph.activation" not in sys.modules, "which nobody has asked for"
        shown = pydoc.plain(pydoc.render_doc(morph))
        for name in ("activate", "activated", "deactivate", "status"):
            assert f"    {name}(" in shown, shown
        assert "class Status(" in shown and "torch" not in sys.modules
    """
    platform.run(textwrap.dedent(shows), morph=False)
