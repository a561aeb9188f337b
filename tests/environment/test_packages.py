"""Packages that have opted in, next to packages that have not, in one environment."""

import pathlib

import pytest

from tests.environment.test_children import run
from tests.installation import FreshEnvironment

PACKAGE = """
def on_gpu():
    import torch
    return torch.device("cuda").type == "cuda"

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
served = ["flash_attn"]
"""


@pytest.fixture
def packages(environment: FreshEnvironment, tmp_path: pathlib.Path) -> dict[str, str]:
    """Install packages, enable the environment for some of them, and return the variables to find them."""
    for name in ("opted", "quiet", "sparing", "other", "declared"):
        (tmp_path / "packages" / name).mkdir(parents=True)
        (tmp_path / "packages" / name / "__init__.py").write_text(PACKAGE)
    metadata = tmp_path / "packages" / "declared-1.0.dist-info"
    metadata.mkdir()
    (metadata / "METADATA").write_text("Metadata-Version: 2.1\nName: declared\nVersion: 1.0\n")
    (metadata / "entry_points.txt").write_text("[morph.packages]\ndeclared = declared\n")
    environment.run("-m", "morph", "enable")
    (environment.packages / "morph.toml").write_text(SETTINGS)
    return {"PYTHONPATH": str(tmp_path / "packages")}


def test_predicates_devices_and_served_packages(
    environment: FreshEnvironment, packages: dict[str, str]
) -> None:
    said = run(
        environment,
        """
        import opted, declared, quiet, sparing, other
        everyone = opted, declared, quiet, sparing, other
        before = [each.served() for each in everyone]
        import torch
        print([each.available() for each in everyone], torch.cuda.is_available())
        print([each.on_gpu() for each in everyone], torch.device("cuda").type)
        print(before == [each.served() for each in everyone], before)
        """,
        variables={**packages, "MORPH_REHEARSE": "npu"},
        expected="[(True, True), (True, True), (False, False), (True, True), (False, False)] True\n"
        "[True, True, False, True, False] cuda\n"
        "True [(True, True), (True, True), (True, True), (False, False), (False, False)]\n",
    )
    assert said == "morph: cuda is npu (Huawei Ascend, simulated, 2 devices)\n"


def test_all_packages_see_the_software_device(
    environment: FreshEnvironment, packages: dict[str, str]
) -> None:
    code = """
        import opted, declared, quiet, sparing, other, torch
        everyone = opted, declared, quiet, sparing, other
        print({each.available() for each in everyone}, torch.cuda.is_available())
        """
    run(environment, code, variables={**packages, "MORPH_BACKEND": "cpu"}, expected="{(True, True)} True\n")


def test_a_program_is_what_lies_beside_it_and_what_spawned_children_read_too(
    environment: FreshEnvironment, packages: dict[str, str], tmp_path: pathlib.Path
) -> None:
    (tmp_path / "inner").mkdir()
    for name in ("beside.py", "inner/deeper.py"):
        (tmp_path / name).write_text(PACKAGE)
    program = tmp_path / "program.py"
    program.write_text(
        "import concurrent.futures, multiprocessing\n"
        "def look():\n"
        "    import beside, inner.deeper, other, torch\n"
        "    near = beside.available(), inner.deeper.available()\n"
        "    return __name__, torch.cuda.is_available(), near, other.available()\n"
        "if __name__ == '__main__':\n"
        "    with concurrent.futures.ProcessPoolExecutor(1, multiprocessing.get_context('spawn')) as pool:\n"
        "        print(pool.submit(look).result())\n"
    )
    expected = "('__mp_main__', True, ((True, True), (True, True)), (False, False))\n"
    enabled = environment.run(program, environment={**packages, "MORPH_REHEARSE": "npu"})
    assert enabled.stdout == expected
    done = environment.run("-m", "morph", "--rehearse", "npu", program, environment=packages)
    assert done.stdout == expected
