"""Bad input: one clear line, a non-zero exit, and nothing half-applied."""

import pathlib
import subprocess

import pytest

from tests.platforms import Platform, complete


def run(platform: Platform, *arguments: object, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [*platform.command(morph=False), "-m", "morph", *map(str, arguments)]
    variables = {**platform.environment, **environment}
    return complete(command, env=variables)


@pytest.mark.platforms("cpu")
@pytest.mark.parametrize(
    ("arguments", "environment", "said"),
    [
        (["--backend", "hpu", "-c", "pass"], {}, "there is no backend 'hpu'; the backends are "),
        (["-c", "pass"], {"MORPH_BACKEND": "hpu"}, "there is no backend 'hpu'; the backends are "),
        (["--rehearse", "hpu", "-c", "pass"], {}, "there is no backend 'hpu'; the backends are "),
        (
            ["no_such_script.py"],
            {},
            "can't open file 'no_such_script.py': [Errno 2] No such file or directory",
        ),
        (["--nonsense", "x.py"], {}, "--nonsense"),
        (["--backnd", "cpu", "x.py"], {}, "unknown option --backnd; did you mean --backend?"),
        (["--device_memory", "1GiB", "x.py"], {}, "--device_memory; did you mean --device-memory?"),
        (["--backend", "ncpu", "-c", "pass"], {}, "; did you mean npu?"),
        (["chekc"], {}, "No such file or directory; did you mean the command check?"),
        (["pytest", "-q"], {}, "No such file or directory; did you mean -m pytest?"),
        (["--backend"], {}, "--backend"),
    ],
)
def test_the_command_line(
    platform: Platform, arguments: list[str], environment: dict[str, str], said: str
) -> None:
    done = run(platform, *arguments, **environment)
    assert done.returncode == 2
    assert done.stdout == ""
    assert said in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.platforms("cpu")
def test_a_backend_whose_package_cannot_load(platform: Platform) -> None:
    done = run(platform, "--backend", "npu", "-c", "import torch; print('went on')")
    assert done.returncode == 2
    assert done.stdout == ""
    (line,) = done.stderr.splitlines()
    assert line.startswith("morph: backend 'npu' cannot be used: torch_npu fails to load: ")


@pytest.mark.platforms("cpu")
def test_a_program_that_raises_shows_its_own_frames_only(platform: Platform, tmp_path: pathlib.Path) -> None:
    script = tmp_path / "program.py"
    script.write_text("import torch\n\ndef fail():\n    torch.ones(2, device='cuda:7')\n\nfail()\n")
    done = run(platform, "--backend", "cpu", script)
    assert done.returncode == 1
    frames = [line for line in done.stderr.splitlines() if line.startswith("  File ")]
    assert [frame.split('"')[1] for frame in frames] == [str(script)] * 2
    assert "CUDA error: invalid device ordinal" in done.stderr
