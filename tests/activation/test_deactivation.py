"""The end of an activation: by a block, by a call, half-way, and before torch is imported."""

import inspect

import pytest

import morph
from tests.activation.scripts import early, late
from tests.platforms import Platform

WAYS_TO_WAIT = ("morph.wait_for_torch()", "activation.arm(activation.Request('cpu'))")


def ways_to_wait(main: str) -> pytest.MarkDecorator:
    """Gives a test each way to wait for the import of torch, all but one of them as long tests."""
    ways = [pytest.param(way, marks=[] if way == main else pytest.mark.long) for way in WAYS_TO_WAIT]
    return pytest.mark.parametrize("waits", ways)


@pytest.mark.platforms("cpu")
def test_a_block_takes_what_an_activation_takes(platform: Platform) -> None:
    asked = inspect.signature(morph.activate).parameters
    assert list(inspect.signature(morph.activated).parameters.items()) == list(asked.items())
    late(
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
    late(
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
    late(
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
@ways_to_wait(main=WAYS_TO_WAIT[1])
def test_a_block_before_torch_leaves_a_program_under_morph(platform: Platform, waits: str) -> None:
    text = f"""
        import morph
        from morph import activation
        {waits}
        with morph.activated():
            import torch
        assert morph.status().active
    """
    early(platform, text, MORPH_BACKEND="cpu")


@pytest.mark.platforms("cpu")
def test_torch_asks_the_software_device_again_when_morph_is_activated_again(platform: Platform) -> None:
    late(
        platform,
        """
        import torch, morph
        own = "CUDA driver" if torch.version.cuda else "without ATen_cuda library"
        for _ in range(2):
            with morph.activated(BACKEND):
                generator = torch.Generator(device="cuda").manual_seed(3)
                assert torch.rand(2, device="cuda", generator=generator).is_cuda
                assert torch.ones(2).pin_memory().is_pinned()
            try:
                torch.Generator(device="cuda")
            except RuntimeError as error:
                assert own in str(error), "torch's own answer"
            else:
                raise AssertionError
        """,
    )


@pytest.mark.platforms("simulated-npu")  # its device stays once started; the others: test_traces.py
def test_deactivation_restores_every_object_by_identity(platform: Platform) -> None:
    late(
        platform,
        """
        import os, sys
        import torch, morph
        import torch.distributed, torch.utils.data, torch.profiler
        from tests.activation.graph import Graph

        morph.activate(BACKEND)  # whatever is imported or initialised by the first activation stays
        torch.ones(1, device="cuda")
        morph.deactivate()
        before, path, environment = Graph("morph"), list(sys.meta_path), dict(os.environ)
        for _ in range(3):
            morph.activate(BACKEND)
            torch.ones(1, device="cuda")
            morph.deactivate()
        ignored = ("__warningregistry__", "_cached_device_count")  # Python's and the vendor's own memory
        changes = [each for each in before.changes(Graph("morph")) if each.startswith("torch")]
        changed = [each for each in changes if not each.endswith(ignored)]
        assert not changed, changed[:20]
        assert sys.meta_path == path and dict(os.environ) == environment
        """,
    )


@pytest.mark.platforms("cpu")
@ways_to_wait(main=WAYS_TO_WAIT[0])
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
    early(platform, text, MORPH_BACKEND="cpu")


@pytest.mark.long_on("simulated-npu")
def test_an_activation_that_fails_half_way_applies_nothing(platform: Platform) -> None:
    late(
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
