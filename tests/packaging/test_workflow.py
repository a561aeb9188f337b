"""The workflow of `docs/uses/ci.md` tests a small CUDA library in a fresh clone, step by step."""

import pathlib
import re

import pytest
import yaml

import morph
from tests.installation import create
from tests.packaging.checkout import commit, git
from tests.packaging.runner import Runner, variables
from tests.platforms import REPOSITORY, describe

LIBRARY = {
    "pyproject.toml": """\
[build-system]
requires = ["setuptools>=77"]
build-backend = "setuptools.build_meta"

[project]
name = "tinynorm"
version = "1.0"
dependencies = ["torch"]

[tool.setuptools]
py-modules = ["tinynorm"]
""",
    "tinynorm.py": '''\
"""Normalizes rows on the GPU, in half precision."""

import torch


def normalize(rows):
    """Return the rows with a mean of 0 and a variance of 1."""
    assert rows.is_cuda, "this library is for GPUs"
    with torch.autocast("cuda", dtype=torch.float16):
        return torch.nn.functional.layer_norm(rows, rows.shape[-1:])
''',
    "tests/test_tinynorm.py": """\
import pytest
import tinynorm
import torch


@pytest.mark.parametrize("device", range(2))
def test_every_row_is_normalized(device):
    rows = torch.randn(4, 256, device=f"cuda:{device}")
    found = tinynorm.normalize(rows)
    assert found.device == rows.device
    torch.testing.assert_close(found.float().mean(-1).cpu(), torch.zeros(4), atol=1e-3, rtol=0)


def test_the_host_is_refused():
    with pytest.raises(AssertionError, match="for GPUs"):
        tinynorm.normalize(torch.ones(2, 2))


def test_devices_do_not_mix():
    with pytest.raises(RuntimeError, match="same device"):
        torch.ones(2, device="cuda:0") + torch.ones(2, device="cuda:1")
""",
    "train.py": """\
import argparse

import torch
import torch.distributed as dist

parser = argparse.ArgumentParser()
parser.add_argument("--epochs", type=int, default=3)
epochs = parser.parse_args().epochs
dist.init_process_group("nccl")
torch.cuda.set_device(dist.get_rank())
model = torch.nn.parallel.DistributedDataParallel(torch.nn.Linear(8, 1).cuda())
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
for _ in range(epochs):
    optimizer.zero_grad()
    model(torch.ones(4, 8, device="cuda")).square().mean().backward()
    optimizer.step()
print(f"trained on {torch.cuda.current_device()}\\n", end="", flush=True)  # in one piece
dist.destroy_process_group()
""",
}


def workflow() -> list[dict[str, object]]:
    text = (REPOSITORY / "docs" / "uses" / "ci.md").read_text(encoding="utf-8")
    (written,) = re.findall(r"^```yaml\n(name: CUDA tests\n.*?)^```", text, re.DOTALL | re.MULTILINE)
    found: list[dict[str, object]] = yaml.safe_load(written)["jobs"]["cuda"]["steps"]
    return found


@pytest.fixture
def clone(tmp_path: pathlib.Path) -> pathlib.Path:
    for name, text in LIBRARY.items():
        (tmp_path / "library" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "library" / name).write_text(text)
    git("clone", "--quiet", commit(tmp_path / "library"), tmp_path / "clone")
    return tmp_path / "clone"


@pytest.mark.long
def test_the_workflow_of_the_docs(clone: pathlib.Path, tmp_path: pathlib.Path) -> None:
    environment = create(tmp_path / "environment")
    runner = Runner(clone, tmp_path, variables(environment.python))
    assert runner.run(workflow()), describe(runner.done[-1])
    assert [used.partition("@")[0] for used, _ in runner.used] == [
        "actions/checkout", "actions/setup-python", "actions/cache",
    ]  # fmt: skip
    cached = runner.used[-1][1]
    assert cached["key"].startswith(f"morph-{morph.__version__}-torch-")
    assert pathlib.Path(cached["path"]).is_dir()
    *_, tests, training = runner.done
    assert "4 passed" in tests.stdout
    assert sorted(re.findall(r"trained on (\d)", training.stdout)) == ["0", "1", "2", "3"]


def test_a_release_is_installed_from_the_index(tmp_path: pathlib.Path) -> None:
    environment = create(tmp_path / "environment")
    runner = Runner(tmp_path, tmp_path, variables(environment.python))
    assert not runner.run([{"uses": "OWNER/morph/.github/actions/setup@v1", "with": {"version": "9.9.9"}}])
    assert "torch-morph==9.9.9" in runner.done[-1].stderr
