"""Activation in real processes: early, late, twice, at once."""

import textwrap

import pytest

from tests.activation.scripts import early, late
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


@pytest.mark.long_on("npu", "simulated-npu")
def test_early_before_torch(platform: Platform) -> None:
    early(platform, f"import morph; morph.activate(BACKEND)\n{textwrap.dedent(SPELLINGS)}")


@pytest.mark.long_on("simulated-npu")
def test_late_after_torch(platform: Platform) -> None:
    late(platform, f"import torch, morph; morph.activate(BACKEND)\n{textwrap.dedent(SPELLINGS)}")


@pytest.mark.platforms("cpu")
def test_early_where_the_import_of_torch_would_load_a_vendors_broken_package(platform: Platform) -> None:
    early(
        platform,
        "import os; os.environ.pop('TORCH_DEVICE_BACKEND_AUTOLOAD', None)\n"
        "import morph; assert morph.activate('cpu').active",
    )


ARMED = """
    import gc, sys
    from morph import activation
    activation.arm(activation.Request(BACKEND))
    assert "torch" not in sys.modules
    full = []
    gc.callbacks.append(lambda phase, about: full.append(about) if about["generation"] == 2 else None)
    import torch
    assert gc.isenabled() and not full, "importing torch sets off no full collection"
"""


@pytest.mark.platforms("cpu", "npu")  # starting a simulated device imports torch
def test_armed_and_activated_by_the_import(platform: Platform) -> None:
    early(platform, textwrap.dedent(ARMED) + textwrap.dedent(SPELLINGS))


@pytest.mark.long_on("npu", "simulated-npu")
def test_says_one_line_at_start(platform: Platform) -> None:
    stderr = late(platform, "import morph; morph.activate(BACKEND); morph.activate(BACKEND)")
    said = [line for line in stderr.splitlines() if line.startswith("morph: ")]
    assert len(said) == 1
    assert f"cuda is {platform.backend}" in said[0]


@pytest.mark.long_on("npu", "simulated-npu")
def test_twice_is_once_another_is_refused_and_a_block_ends(platform: Platform) -> None:
    late(
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


@pytest.mark.long_on("npu", "simulated-npu")
def test_threads_activating_at_once_get_one_activation(platform: Platform) -> None:
    early(
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
    early(platform, shows)
