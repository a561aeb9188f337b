"""Third-party backends: a distribution that is built and installed, and distributions that are broken."""

import json
import os
import pathlib
import re
import shutil
import subprocess
import sys
import textwrap

import pytest

from tests import installation, platforms
from tests.installation import FreshEnvironment
from tests.platforms import REPOSITORY, complete

SPECIMEN = pathlib.Path(__file__).with_name("madeup")
TABLE = (SPECIMEN / "morph_madeup" / "madeup.toml").read_text()
TRAINING = """
    import torch

    model = torch.nn.Linear(4, 2).cuda()
    optimizer = torch.optim.SGD(model.parameters(), 0.1)
    scaler = torch.amp.GradScaler("cuda")
    for _ in range(3):
        with torch.autocast("cuda"):
            loss = model(torch.ones(8, 4, device="cuda")).square().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        loss = loss * 2
    print(loss.device, loss.device.type == "cuda", torch.cuda.get_device_capability())
    print(stream.cuda_stream == stream.madeup_stream, hasattr(torch.cuda, "CUDAGraph"))
    torch.cuda.nvtx.range_push("step")
    torch.cuda.MemPool()
"""


@pytest.fixture(scope="module")
def environment(tmp_path_factory: pytest.TempPathFactory) -> FreshEnvironment:
    """A virtual environment with the specimen's wheel."""
    folder = tmp_path_factory.mktemp("madeup")
    sources = shutil.copytree(SPECIMEN, folder / "sources")
    fresh = installation.create(folder / "environment")
    fresh.install(installation.build("wheel", sources, folder))
    return fresh


def run(environment: FreshEnvironment, *arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return environment.run(
        "-m", "morph", *arguments, environment={"PYTHONPATH": str(REPOSITORY), **variables}, check=False
    )


def test_a_vendor_is_added_by_one_table_and_one_surface_without_python() -> None:
    held = [path.name for path in (SPECIMEN / "morph_madeup").iterdir()]
    assert sorted(held) == ["madeup.toml", "torch_madeup-1.0.json"]


@pytest.mark.long
@pytest.mark.usefixtures("native_parts")
def test_a_program_is_rehearsed_on_a_vendor_from_outside(environment: FreshEnvironment) -> None:
    done = run(environment, "--rehearse", "madeup", "-c", textwrap.dedent(TRAINING))
    assert done.stdout.splitlines() == ["cuda:0 True (8, 0)", "True False"], platforms.describe(done)
    said = done.stderr.splitlines()
    assert said[0] == "morph: cuda is madeup (Made-Up Semiconductors, simulated, 2 devices)"
    refusal = "torch.cuda.MemPool does not exist on backend 'madeup': torch.madeup has no such name"
    assert any(refusal in line for line in said)
    assert any(line.split()[:1] == ["torch.cuda.nvtx.range_push"] and "noop" in line for line in said)


def test_its_package_and_its_device_are_looked_for(environment: FreshEnvironment) -> None:
    done = run(environment, "--backend", "madeup", "-c", "import torch")
    assert done.returncode == 2
    assert done.stderr == (
        "morph: backend 'madeup' cannot be used: the package torch_madeup is not installed; "
        "python -m morph --rehearse madeup needs no device\n"
    )
    unknown = run(environment, "--backend", "hpu", "-c", "import torch")
    assert re.search("there is no backend 'hpu'; the backends are .*madeup, mlu, ", unknown.stderr)


def test_nobody_looks_for_it_who_names_another(environment: FreshEnvironment) -> None:
    program = (
        "import sys; from morph.backends.tables import plugins\n"
        "print(plugins.installed.cache_info().misses, 'morph_madeup' in sys.modules)"
    )
    assert run(environment, "--backend", "npu", "-c", program).stdout.split() == ["0", "False"]
    assert run(environment, "--backend", "madeup", "-c", program).stdout.split() == ["1", "True"]


class Outside:
    """A folder of installed distributions, each with one backend."""

    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder

    def install(self, name: str, files: dict[str, str], package: str = "") -> None:
        """Writes the files that installing a wheel would write."""
        package = package or f"morph_{name}"
        metadata = self.folder / f"{package}-1.0.dist-info"
        metadata.mkdir()
        (metadata / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: 1.0\n")
        (metadata / "entry_points.txt").write_text(f"[morph.backends]\n{name} = {package}\n")
        for path, text in files.items():
            (self.folder / package).mkdir(exist_ok=True)
            (self.folder / package / path).write_text(text)

    def python(self, code: str) -> subprocess.CompletedProcess[str]:
        """Runs code with these distributions installed."""
        path = f"{self.folder}:{REPOSITORY}"
        variables = {**platforms.platform("cpu", {}).environment, "PYTHONPATH": path}
        return subprocess.run(
            [sys.executable, "-c", code], env=variables, capture_output=True, text=True, check=True
        )


@pytest.fixture
def outside(tmp_path: pathlib.Path) -> Outside:
    folder = Outside(tmp_path)
    folder.install("absent", {})
    folder.install("empty", {"__init__.py": ""})
    folder.install("raising", {"__init__.py": "raise OSError('no driver')", "raising.toml": TABLE})
    folder.install("malformed", {"malformed.toml": TABLE.replace("order = 5", 'order = "5"')})
    folder.install("renamed", {"renamed.toml": TABLE})
    folder.install("unrecorded", {"unrecorded.toml": TABLE.replace('"madeup"', '"unrecorded"')})
    folder.install("npu", {"npu.toml": TABLE})
    return folder


REASONS = {
    "absent": "morph_absent fails to load: ModuleNotFoundError: No module named 'morph_absent'",
    "empty": "the package morph_empty has no empty.toml",
    "raising": "morph_raising fails to load: OSError: no driver",
    "malformed": "morph_malformed/malformed.toml:15: order: '5' should be int",
    "renamed": "its table is called 'madeup'",
    "unrecorded": "there is no recorded surface 'torch_madeup-1.0'; there are torch_",
    "npu": "morph has a table of that name",
}


def test_each_broken_one_is_one_line(outside: Outside) -> None:
    show = "print(json.dumps([table.backend_names(), table.problems()]))"
    done = outside.python(f"import json; from morph.backends.tables import table; {show}")
    names, problems = json.loads(done.stdout)
    assert sorted(names) == sorted(path.stem for path in REPOSITORY.glob("aliases/*.toml"))
    said = dict(sorted((line.split("'")[1], line) for line in problems))
    assert said.keys() == REASONS.keys()
    for name, line in said.items():
        opening = f"backend '{name}' of morph_{name} 1.0 cannot be used: {REASONS[name]}"
        assert line.startswith(opening)
        assert "\n" not in line


POOLS = """
class MemPool:
    pass


def snapshot(pool):
    return "the vendor's snapshot"
"""
ROWS = """
"torch.cuda.MemPool" = { adapter = "morph_madeup.pools:MemPool", difference = "a class of the table's own" }
"torch.cuda.MemPool.snapshot" = { adapter = "morph_madeup.pools:snapshot", difference = "one of its members" }

[noop]
"""


@pytest.mark.usefixtures("native_parts")
def test_a_class_of_the_tables_own_gets_members(tmp_path: pathlib.Path) -> None:
    surface = (SPECIMEN / "morph_madeup" / "torch_madeup-1.0.json").read_text()
    table = TABLE.replace("\n[noop]\n", ROWS) + '"torch.cuda.MemPool.use_count" = "nobody counts"\n'
    files = {"madeup.toml": table, "torch_madeup-1.0.json": surface, "pools.py": POOLS}
    Outside(tmp_path).install("madeup", files)
    code = """
        import torch

        pool = torch.cuda.MemPool()
        print(type(pool).__module__, pool.snapshot())
        pool.use_count
    """
    command = [sys.executable, "-m", "morph", "--rehearse", "madeup", "-c", textwrap.dedent(code)]
    environment = {**os.environ, "PYTHONPATH": f"{tmp_path}:{REPOSITORY}"}
    done = complete(command, env=environment)
    assert done.stdout == "morph_madeup.pools the vendor's snapshot\n", platforms.describe(done)
    assert "torch.cuda.MemPool.use_count does not exist on backend 'madeup': nobody counts" in done.stderr


@pytest.mark.usefixtures("native_parts")
def test_the_next_is_tried_after_a_broken_one(outside: Outside) -> None:
    arming = "from morph import activation; activation.arm(activation.Request())"
    code = f"{arming}; import torch, morph; print(morph.status().backend)"
    done = outside.python(code)
    assert done.stdout.split() == ["cpu"]
    said = [line for line in done.stderr.splitlines() if "' of morph_" in line]
    assert len(said) == len(REASONS)
    assert all(line.startswith("morph: backend '") for line in said)


def test_a_broken_one_that_is_asked_for_is_an_error(outside: Outside) -> None:
    code = """
from morph.backends.tables import table
from morph.base.errors import MorphError
try:
    table.load("raising")
except MorphError as error:
    print(error)
"""
    said = outside.python(code).stdout.strip()
    assert said == f"backend 'raising' of morph_raising 1.0 cannot be used: {REASONS['raising']}"
