"""Packages that have opted in, beside packages that have not, in one environment."""

from __future__ import annotations

import pathlib

import pytest

from tests.environment.test_children import run
from tests.installation import FreshEnvironment

PACKAGE = """
def on_gpu(name="NPU"):
    return name.lower() == "cuda"

def available():
    import torch
    return torch.cuda.is_available(), torch.cuda.device_count() > 0

def served():
    import importlib, importlib.metadata, importlib.util
    try:
        version = importlib.metadata.version("apex")
    except ImportError:
        version = None
    return importlib.util.find_spec("apex") is not None, version is not None
"""
SETTINGS = """
packages = ["opted", "quiet", "sparing"]
[package.quiet]
view = "vendor"
[package.sparing]
literals = false
served = ["flash_attn"]
"""


@pytest.fixture
def packages(environment: FreshEnvironment, tmp_path: pathlib.Path) -> dict[str, str]:
    """Install packages, enable the environment for some of them, and return the variables to find them."""
    for name in ("opted", "quiet", "sparing", "other"):
        (tmp_path / "packages" / name).mkdir(parents=True)
        (tmp_path / "packages" / name / "__init__.py").write_text(PACKAGE)
    environment.run("-m", "morph", "enable")
    (environment.packages / "morph.toml").write_text(SETTINGS)
    return {"PYTHONPATH": str(tmp_path / "packages")}


def test_comparisons(environment: FreshEnvironment, packages: dict[str, str], tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import opted, quiet, sparing, other, sys\n"
        "print(*[each.on_gpu() for each in (opted, quiet, sparing, other)], 'NPU'.lower() == 'cuda')"
    )
    variables = {**packages, "MORPH_BACKEND": "npu"}
    done = environment.run(program, environment=variables)
    assert (done.stdout, done.stderr) == ("True False False False False\n", "")
    done = environment.run("-m", "morph", program, environment=variables)
    assert (done.stdout, done.stderr) == ("True False False False True\n", "")


def test_predicates_and_served_packages(environment: FreshEnvironment, packages: dict[str, str]) -> None:
    said = run(
        environment,
        """
        import opted, quiet, sparing, other
        everyone = opted, quiet, sparing, other
        before = [each.served() for each in everyone]
        import torch
        print([each.available() for each in everyone], torch.cuda.is_available())
        print(before == [each.served() for each in everyone], before)
        """,
        variables={**packages, "MORPH_BACKEND": "cpu"},
        expected="[(True, True), (False, False), (True, True), (False, False)] False\n"
        "True [(True, True), (True, True), (False, False), (False, False)]\n",
    )
    assert said == "morph: cuda is cpu (the CPU, 1 device)\n"


def test_a_program_is_what_spawned_children_read_too(
    environment: FreshEnvironment, packages: dict[str, str], tmp_path: pathlib.Path
) -> None:
    program = tmp_path / "program.py"
    program.write_text(
        "import concurrent.futures, multiprocessing\n"
        "def look():\n"
        "    import other, torch\n"
        "    return __name__, torch.cuda.is_available(), other.available()\n"
        "if __name__ == '__main__':\n"
        "    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context('spawn')) as pool:\n"
        "        print(pool.submit(look).result())\n"
    )
    done = environment.run("-m", "morph", "--backend", "cpu", program, environment=packages)
    assert done.stdout == "('__mp_main__', True, (False, False))\n"
