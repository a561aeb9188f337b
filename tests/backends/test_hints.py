"""What morph says to `--backend` with a vendor's name, a device type of torch's, or an absent package."""

import pathlib

import pytest

from morph.activation import configuration
from morph.backends.tables import table
from morph.base.errors import ConfigurationError, UnknownBackendError
from morph.running import commands
from tests.platforms import Platform


@pytest.mark.parametrize(
    ("said", "hint"),
    [
        ("ascend", "did you mean npu (Huawei Ascend)?"),
        ("Huawei", "did you mean npu (Huawei Ascend)?"),
        ("NPU", "did you mean npu (Huawei Ascend)?"),
        ("torch_npu", "did you mean npu (Huawei Ascend)?"),
        ("cambricon", "did you mean mlu (Cambricon)?"),
        ("Intel", "did you mean xpu (Intel GPU)?"),
        ("amd", "did you mean rocm (AMD ROCm)?"),
        ("hip", "did you mean rocm (AMD ROCm)?"),
        ("CPU", "did you mean cpu (the CPU)?"),
        ("muse", "did you mean musa?"),
        ("cuda", "cuda is what the program asks for: name the backend that serves it, or leave the choice"),
        ("GPU", "GPU is what the program asks for: name the backend that serves it, or leave the choice"),
        ("mps", "morph has none for Apple's devices"),
    ],
)
def test_a_word_that_people_know_a_device_by(said: str, hint: str) -> None:
    with pytest.raises(UnknownBackendError) as caught:
        table.load(said)
    assert f"; {hint}" in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_word_like_no_backend_gets_no_hint() -> None:
    with pytest.raises(UnknownBackendError) as caught:
        table.load("quantum")
    assert ";" not in str(caught.value).partition("the backends are")[2]


def test_a_file_and_a_command_get_the_hint_too(
    tmp_path: pathlib.Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "morph.toml").write_text('backend = "ascend"')
    with pytest.raises(ConfigurationError, match=r"did you mean npu \(Huawei Ascend\)\?"):
        configuration.effective(tmp_path)
    assert commands.run(["explain", "torch.cuda.Stream", "--backend", "Ascend"]) == 2
    assert "did you mean npu" in capsys.readouterr().err


@pytest.mark.platforms("cpu")
@pytest.mark.parametrize(
    ("backend", "install"),
    [
        ("npu", "(python -m pip install 'torch-npu=={torch}.*')"),
        ("mlu", "(torch_mlu comes with Cambricon's PyTorch images)"),
        pytest.param(
            "xpu", "(pytorch.org has the command for a torch built for XPU)", marks=pytest.mark.long
        ),
    ],
)
def test_an_absent_package_is_told_with_the_ways_out(
    platform: Platform, tmp_path: pathlib.Path, backend: str, install: str
) -> None:
    hidden = "import importlib.util as u; find = u.find_spec; "
    hidden += "u.find_spec = lambda name, *rest: None if name.startswith('torch_') else find(name, *rest)\n"
    (tmp_path / "sitecustomize.py").write_text(hidden)  # as where no vendor's package is installed
    path = f"{tmp_path}:{platform.environment['PYTHONPATH']}"
    program = "import torch; print(torch.__version__)"
    done = platform.run(
        "import sys; sys.argv = ['morph']; from morph.running.launcher.command import main; "
        f"main(['--backend', {backend!r}, '-c', {program!r}])",
        morph=False,
        check=False,
        environment={"PYTHONPATH": path},
    )
    import torch

    said = install.replace("{torch}", ".".join(torch.__version__.split(".")[:2]))
    (line,) = done.stderr.splitlines()
    assert f"{said}; python -m morph --rehearse {backend} needs no device" in line
    assert (done.returncode, done.stdout) == (2, "")
