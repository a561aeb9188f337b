"""Processes of every kind in an enabled environment, and code there that activates morph itself."""

import pathlib
import textwrap
from collections.abc import Mapping

from tests.installation import FreshEnvironment
from tests.platforms import describe

KINDS = """
import concurrent.futures, multiprocessing, subprocess, sys

def look(kind):
    import torch
    return kind, torch.cuda.is_available(), torch.ones(2).cuda().is_cuda

if __name__ == "__main__":
    for kind in "spawn", "forkserver":
        with concurrent.futures.ProcessPoolExecutor(1, mp_context=multiprocessing.get_context(kind)) as pool:
            print(*pool.submit(look, kind).result(), flush=True)
    code = "from program import look; print(*look('subprocess'))"
    subprocess.run([sys.executable, "-c", code], check=True)
    with multiprocessing.get_context("fork").Pool(1) as pool:  # before this process uses the device
        print(*pool.apply(look, ["fork"]), flush=True)
    print(*look("itself"), flush=True)
"""
RANK = """
import os, torch, torch.distributed as dist
dist.init_process_group("nccl")
x = torch.ones(2, device="cuda")
dist.all_reduce(x)
print("rank", dist.get_rank(), x.tolist(), os.environ.get("PYTHONPATH"))
dist.destroy_process_group()
"""


def test_every_kind_of_process(environment: FreshEnvironment, tmp_path: pathlib.Path) -> None:
    (tmp_path / "program.py").write_text(KINDS)
    environment.run("-m", "morph", "enable", "--backend", "cpu")
    done = environment.run(tmp_path / "program.py", environment={"PYTHONPATH": str(tmp_path)})
    kinds = ["spawn", "forkserver", "subprocess", "fork", "itself"]
    assert done.stdout.splitlines() == [f"{kind} True True" for kind in kinds]
    assert set(done.stderr.splitlines()) == {"morph: cuda is cpu (the CPU, 1 device)"}


def test_torchrun(environment: FreshEnvironment, tmp_path: pathlib.Path) -> None:
    (tmp_path / "rank.py").write_text(RANK)
    environment.run("-m", "morph", "enable", "--backend", "cpu")
    run = ["-m", "torch.distributed.run", "--nproc-per-node", "1", tmp_path / "rank.py"]
    done = environment.run(*run, environment={"OMP_NUM_THREADS": "1"})
    assert done.stdout.splitlines() == ["rank 0 [1.0, 1.0] None"]


def test_a_disabled_environment_is_plain(environment: FreshEnvironment) -> None:
    environment.run("-m", "morph", "enable", "--backend", "cpu")
    environment.run("-m", "morph", "disable")
    code = """
        import sys, torch
        assert not torch.cuda.is_available() and "morph" not in sys.modules
        assert type(torch.cuda).__name__ == "module"
        """
    assert run(environment, code) == ""


def test_the_launcher_and_its_children_are_activated_once(
    environment: FreshEnvironment, tmp_path: pathlib.Path
) -> None:
    environment.run("-m", "morph", "enable")
    code = """
        import subprocess, sys
        look = "[getattr(each, '__name__', type(each).__name__) for each in sys.meta_path]"
        if sys.argv[1:]:
            import torch
            names = eval(look)
            print(*map(names.count, ["PackageFinder", "Finder", "TorchFinder", "morph"]))
            print(torch.cuda.is_available(), type(torch.cuda).__name__)
        else:
            subprocess.run([sys.executable, __file__, "child"], check=True)
        """
    program = tmp_path / "program.py"
    program.write_text("".join(line[8:] + "\n" for line in code.splitlines()))
    done = environment.run("-m", "morph", "--backend", "cpu", program)
    assert done.stdout.splitlines() == ["1 1 0 0", "True module"]
    done = environment.run("-m", "morph", "--backend", "cpu", program, "itself")
    assert done.stdout.splitlines() == ["1 1 0 0", "True module"]


def test_code_that_activates_and_deactivates_by_itself(environment: FreshEnvironment) -> None:
    environment.run("-m", "morph", "enable", "--backend", "npu")
    said = run(
        environment,
        """
        import sys
        import importlib_metadata  # which adds a finder of its own
        own = [each for each in sys.meta_path if not getattr(each, "__module__", "").startswith("morph")]
        hooks = list(sys.path_hooks)
        import morph
        assert morph.activate("cpu").backend == "cpu", "what code asks for comes before what is configured"
        import torch
        assert torch.cuda.is_available() and morph.activate().active
        morph.deactivate()
        assert sys.meta_path == own and sys.path_hooks == hooks
        assert type(torch.cuda).__name__ == "module" and not torch.cuda.is_available()
        """,
    )
    assert said == "morph: cuda is cpu (the CPU, 1 device)\n"


def test_a_deactivation_before_torch_holds(environment: FreshEnvironment) -> None:
    environment.run("-m", "morph", "enable", "--backend", "cpu")
    code = """
        import packaging, morph
        morph.deactivate()
        import torch
        assert not torch.cuda.is_available() and not morph.status().active
        """
    assert run(environment, code) == ""


def test_a_backend_that_is_absent_is_one_line_and_torch_is_there(environment: FreshEnvironment) -> None:
    environment.run("-m", "morph", "enable", "--backend", "mlu")
    said = run(
        environment,
        """
        import sys, torch
        assert not torch.cuda.is_available() and type(torch.cuda).__name__ == "module"
        own = [type(each).__module__ for each in sys.meta_path]
        assert not any(name.startswith("morph") for name in own), own
        """,
    )
    assert said == (
        "morph: not active in this process: backend 'mlu' cannot be used: "
        "the package torch_mlu is not installed (torch_mlu comes with Cambricon's PyTorch images); "
        "python -m morph --rehearse mlu needs no device\n"
    )


def run(
    environment: FreshEnvironment,
    code: str,
    *,
    variables: Mapping[str, str] | None = None,
    expected: str = "",
) -> str:
    """Run code, check that it prints the expected output, and return its standard error."""
    done = environment.run("-c", textwrap.dedent(code), environment=variables)
    assert done.stdout == expected, describe(done)
    return done.stderr
