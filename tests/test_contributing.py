"""The instructions of CONTRIBUTING.md work word for word in a copy of the project."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest

from tests import installation, platforms
from tests.platforms import REPOSITORY, describe

TEXT = (REPOSITORY / "CONTRIBUTING.md").read_text(encoding="utf-8")
EXAMPLES = ("tests/backends/madeup", "tests/programs")  # named in the text
SERVED = """
import torch, tinyops
from torch.nn import functional

x, y = (torch.randn(4, 8, device="cuda") for _ in range(2))
torch.testing.assert_close(tinyops.fused_silu_mul(x, y), x.sigmoid() * x * y)
torch.testing.assert_close(tinyops.fused_bias_gelu(x, y[0]), functional.gelu(x + y[0]))
both = x + y
normed = both * (both.square().mean(-1, keepdim=True) + 1e-6).rsqrt()
torch.testing.assert_close(tinyops.fused_add_norm(x, y, x[0]), normed * x[0])
try:
    tinyops.fused_rope
except AttributeError as error:
    print(error)
"""


def blocks(heading: str, language: str) -> list[str]:
    """Returns the fenced blocks of one language below a heading."""
    section = TEXT.partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    return re.findall(rf"```{language}\n(.*?)```", section, re.DOTALL)


class Newcomer:
    """A copy of the project, and a shell in it."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.checkout = installation.copy_sources(folder / "checkout")
        for example in EXAMPLES:
            shutil.copytree(REPOSITORY / example, self.checkout / example)

    def shell(self, commands: str) -> subprocess.CompletedProcess[str]:
        """Runs shell commands with this interpreter as `python`."""
        inherited = platforms.platform("cpu", {}).environment
        path = f"{pathlib.Path(sys.executable).parent}{os.pathsep}{inherited['PATH']}"
        variables = {**inherited, "PATH": path, "PYTHONPATH": str(self.checkout)}
        return platforms.complete(
            ["bash", "-ec", commands.strip()], env=variables, cwd=self.checkout, timeout=200
        )

    def write(self, path: str, text: str) -> None:
        """Writes a file in the checkout, creating its folder if necessary."""
        (self.checkout / path).parent.mkdir(exist_ok=True)
        (self.checkout / path).write_text(text)


@pytest.fixture
def newcomer(tmp_path: pathlib.Path) -> Newcomer:
    return Newcomer(tmp_path)


@pytest.mark.long
def test_a_backend_is_rehearsed_and_an_alias_is_one_line(newcomer: Newcomer) -> None:
    (commands,) = blocks("Add a backend", "sh")
    stopped = newcomer.shell(f"{commands.strip()} --epochs 1")
    assert stopped.returncode == 1, describe(stopped)
    assert "on Made-Up Semiconductors it would stop at " in stopped.stderr
    (alias,) = blocks("Add an alias", "toml")
    section, line = alias.splitlines()
    name = line.split('"')[1]
    assert f"{name} does not exist on backend 'madeup'" in stopped.stderr
    table = newcomer.checkout / "aliases" / "madeup.toml"
    table.write_text(table.read_text().replace(section, f"{section}\n{line}"))
    rehearsal = commands.strip().splitlines()[-1]
    done = newcomer.shell(f"{rehearsal} --epochs 1")
    assert done.returncode == 0, describe(done)
    assert "on Made-Up Semiconductors it would run" in done.stderr


@pytest.mark.long
@pytest.mark.usefixtures("native_parts")
def test_a_package_is_one_file_and_one_table(newcomer: Newcomer) -> None:
    files = [*blocks("Serve a package", "python"), *blocks("Serve a package", "toml")]
    for path, text in zip(("__init__.py", "surface.toml"), files, strict=True):
        newcomer.write(f"aliases/packages/tinyops/{path}", text)
    newcomer.write("program.py", SERVED)
    done = newcomer.shell("python -m morph --backend cpu program.py")
    assert done.returncode == 0, describe(done)
    assert done.stdout == (
        "tinyops.fused_rope does not exist on backend 'cpu': write it with torch's operators\n"
    )
    rehearsed = newcomer.shell("python -m morph --rehearse npu program.py")
    assert rehearsed.returncode == 0, describe(rehearsed)
    assert re.search(r"^tinyops\.fused_silu_mul +1 +program.py:\d+ +emulated", rehearsed.stderr, re.MULTILINE)
    covered = newcomer.shell("python -m morph coverage tinyops; python -m morph explain tinyops.fused_rope")
    assert covered.returncode == 0, describe(covered)
    assert "tinyops, tinyops 1.2: 5 names" in covered.stdout
    linted = newcomer.shell("python -m ruff check aliases/packages/tinyops")
    assert linted.returncode == 0, describe(linted)
