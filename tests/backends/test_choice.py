"""The choice of a backend, in real processes with real, absent, broken and empty vendor packages."""

import pathlib
import textwrap

import pytest

from morph.activation import choice
from morph.base.journal import Journal
from tests import origin
from tests.platforms import Platform

WHICH = "import torch, morph; print(morph.status().backend)"
ACTIVATE = f"import morph; morph.activate(); {WHICH}"


def vendor(folder: pathlib.Path, source: str) -> dict[str, str]:
    """Creates a package called torch_npu that precedes the installed one on the path."""
    package = folder / "torch_npu"
    package.mkdir()
    (package / "__init__.py").write_text(textwrap.dedent(source))
    return {"PYTHONPATH": f"{folder}:{pathlib.Path(__file__).parents[2]}"}


@pytest.mark.platforms("npu")
@pytest.mark.parametrize(
    ("argument", "environment", "chosen"), [("", "", "npu"), ("", "cpu", "cpu"), ("'npu'", "cpu", "npu")]
)
def test_the_argument_overrides_the_environment_which_overrides_what_is_there(
    platform: Platform, argument: str, environment: str, chosen: str
) -> None:
    text = f"import morph; morph.activate({argument}); {WHICH}"
    done = origin.run(platform, text, environment={"MORPH_BACKEND": environment})
    assert done.stdout.split() == [chosen]


@pytest.mark.platforms("cpu")
@pytest.mark.parametrize(
    ("source", "problem"),
    [
        ("raise OSError('libascendcl.so: cannot open shared object file')", "OSError: libascendcl.so"),
        ("import no_such_dependency", "ModuleNotFoundError: No module named 'no_such_dependency'"),
        ("x = 1 / 0", "ZeroDivisionError"),
        ("import sys; sys.exit('no license')", "SystemExit: no license"),
    ],
)
def test_a_broken_vendor_is_one_line_and_the_next_is_tried(
    platform: Platform, tmp_path: pathlib.Path, source: str, problem: str
) -> None:
    vendor(tmp_path, source)
    done = origin.run(platform, f"import sys; sys.path.insert(0, '.')\n{ACTIVATE}", cwd=tmp_path)
    assert done.stdout.split() == ["cpu"]
    said = [line for line in done.stderr.splitlines() if line.startswith("morph: ")]
    assert len(said) == 2
    assert said[0].startswith("morph: Huawei Ascend is skipped: torch_npu fails to load: ")
    assert problem in said[0]


@pytest.mark.platforms("cpu")
def test_a_vendor_without_a_device_is_passed_over(platform: Platform, tmp_path: pathlib.Path) -> None:
    source = """
        import sys, types, torch
        npu = types.ModuleType("torch.npu")
        npu.is_available = lambda: False
        torch.npu = sys.modules["torch.npu"] = npu
    """
    text = f"from morph import activation; activation.arm(activation.Request()); {WHICH}"
    done = platform.run(text, morph=False, environment=vendor(tmp_path, source))
    assert done.stdout.split() == ["cpu"]
    assert "torch.npu sees no device" in done.stderr


@pytest.mark.platforms("cpu")
@pytest.mark.parametrize(
    ("backend", "source", "error", "message"),
    [
        ("hpu", "", "UnknownBackendError", "there is no backend 'hpu'; the backends are "),
        ("npu", "raise OSError('no libhccl.so')", "AbsentBackendError", "torch_npu fails to load: OSError"),
    ],
)
def test_an_explicit_backend_that_cannot_be_used_is_an_error(
    platform: Platform, tmp_path: pathlib.Path, backend: str, source: str, error: str, message: str
) -> None:
    text = f"""
        import sys
        sys.path.insert(0, '.')
        import morph, morph.base.errors, torch
        own = torch.cuda
        try:
            morph.activate({backend!r})
        except morph.base.errors.MorphError as error:
            print(type(error).__name__, error)
        assert torch.cuda is own and not morph.status().active
    """
    vendor(tmp_path, source)
    done = origin.run(platform, textwrap.dedent(text), cwd=tmp_path)
    assert done.stdout.startswith(error)
    assert message in done.stdout
    assert len(done.stdout.splitlines()) == 1


@pytest.mark.platforms("npu")
@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"CUDA_VISIBLE_DEVICES": "1"}, "npu 1 1"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "0,1"}, "npu 2 0,1", marks=pytest.mark.long),
        ({"CUDA_VISIBLE_DEVICES": "0", "ASCEND_RT_VISIBLE_DEVICES": "0,1"}, "npu 2 0,1"),
        ({"CUDA_VISIBLE_DEVICES": ""}, "cpu 0 None"),
        pytest.param({"CUDA_VISIBLE_DEVICES": "-1"}, "cpu 0 None", marks=pytest.mark.long),
    ],
)
def test_visible_devices_are_carried_to_the_vendor(
    platform: Platform, environment: dict[str, str], expected: str
) -> None:
    text = """
        from morph import activation
        activation.arm(activation.Request())
        import os, subprocess, sys, torch, morph
        print(morph.status().backend, torch.cuda.device_count(), os.environ.get("ASCEND_RT_VISIBLE_DEVICES"))
    """
    done = platform.run(textwrap.dedent(text), morph=False, environment=environment)
    assert done.stdout.strip() == expected


def test_only_the_chosen_backend_says_what_it_ignores(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(choice, "is_installed", lambda facts: True)
    monkeypatch.setattr(
        choice, "why_absent", lambda backend, journal: None if backend.name == "mlu" else "absent"
    )
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "GPU-8932f937")
    journal, said = Journal(), list[str]()
    assert choice.choose(None, journal, said.append).name == "mlu"
    journal.undo()
    (ignored,) = [line for line in said if "GPU-8932f937" in line]
    assert "names no Cambricon devices and is ignored" in ignored
