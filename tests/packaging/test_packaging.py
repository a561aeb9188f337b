"""The wheel, the sdist, the editable installation and the bare checkout."""

import pathlib
import tarfile
import zipfile

import pytest

from tests.installation import FreshEnvironment, build, copy_sources, create
from tests.platforms import REPOSITORY, Platform, complete, describe

PROGRAM = "import torch; x = torch.ones(3).cuda(); assert x.is_cuda; print(int(x.sum()), torch.cuda.__name__)"
SUFFIXES = (".py", ".toml", ".json", ".cpp", ".h", ".md", ".html", ".css", ".js", ".typed")
FOLDERS = {"morph": "morph", "finders": "morph.finders", "aliases": "morph.aliases"}


def test_the_wheel_holds_morph_and_every_file_of_it(built_wheel: pathlib.Path) -> None:
    names = [name for name in zipfile.ZipFile(built_wheel).namelist() if ".dist-info/" not in name]
    assert {name.partition("/")[0] for name in names} == {"morph"}
    assert "morph/aliases/packages/pynvml/__init__.pyi" in names  # which the build writes
    for folder, package in FOLDERS.items():
        for path in (REPOSITORY / folder).rglob("*"):
            if path.suffix in SUFFIXES:
                inside = pathlib.PurePosixPath(
                    package.replace(".", "/"), path.relative_to(REPOSITORY / folder)
                )
                assert str(inside) in names, path


def test_an_installed_wheel_runs_a_program(fresh_environment: FreshEnvironment) -> None:
    done = fresh_environment.run("-m", "morph", "--backend", "cpu", "-c", PROGRAM)
    assert done.stdout.split() == ["3", "torch.cuda"]
    where = fresh_environment.run("-c", "import morph.finders, morph.aliases as a; print(a.__file__)").stdout
    assert pathlib.Path(where.strip()).is_relative_to(fresh_environment.packages)
    for name in ("finders", "aliases", "tests", "benchmarks"):
        assert not (fresh_environment.packages / name).exists()


def test_the_console_script_is_the_same_command(fresh_environment: FreshEnvironment) -> None:
    script = fresh_environment.folder / "bin" / "morph"
    done = complete([script, "--backend", "cpu", "-c", PROGRAM])
    assert done.returncode == 0, describe(done)
    assert done.stdout.split() == ["3", "torch.cuda"]


@pytest.mark.long
def test_the_sdist_builds_the_same_wheel(tmp_path: pathlib.Path, built_wheel: pathlib.Path) -> None:
    with tarfile.open(build("sdist", copy_sources(tmp_path / "sources"), tmp_path)) as archive:
        archive.extractall(tmp_path / "unpacked", filter="data")
    (sources,) = (tmp_path / "unpacked").iterdir()
    rebuilt = build("wheel", sources, tmp_path)
    assert sorted(zipfile.ZipFile(rebuilt).namelist()) == sorted(zipfile.ZipFile(built_wheel).namelist())


@pytest.mark.long
def test_an_editable_installation_runs_a_program(tmp_path: pathlib.Path) -> None:
    checkout = copy_sources(tmp_path / "checkout")
    environment = create(tmp_path / "environment")
    environment.install("--editable", checkout)
    done = environment.run("-m", "morph", "--backend", "cpu", "-c", PROGRAM)
    assert done.stdout.split() == ["3", "torch.cuda"]
    (tmp_path / "elsewhere" / "morph").mkdir(parents=True)
    done = environment.run("-m", "morph", "--version", cwd=tmp_path / "elsewhere")
    assert done.stdout.startswith("morph "), "a folder that is called so is no package"
    where = environment.run("-c", "import morph.finders; print(morph.finders.__file__)").stdout
    assert pathlib.Path(where.strip()) == checkout / "finders" / "__init__.py"


@pytest.mark.long_on("npu", "simulated-npu")
def test_a_bare_checkout_runs_a_program(platform: Platform, tmp_path: pathlib.Path) -> None:
    checkout = copy_sources(tmp_path / "checkout")
    done = platform.run(PROGRAM, cwd=checkout, environment={"PYTHONPATH": ""})
    assert done.stdout.split() == ["3", "torch.cuda"]
