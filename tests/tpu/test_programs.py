"""Programs for CUDA on torch_tpu, beside plain torch on the CPU, and what a user reads of the start."""

import pathlib
import subprocess
import sys

import pytest

from tests.platforms import REPOSITORY, Platform, complete, describe, platform

pytestmark = pytest.mark.long

# XLA's plug-in for the CPU as it is: it counts and pins no memory
WITHOUT_MEMORY = {"XLA_CPU_PLUGIN_WITHOUT_MEMORY": "1"}
PROGRAMS = sorted((pathlib.Path(__file__).parent / "programs").glob("*.py"))


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda path: path.stem)
def test_a_program_computes_what_it_does_on_the_cpu(tpu: Platform, program: pathlib.Path) -> None:
    found = tpu.run(program, "cuda").stdout.split()
    plain = subprocess.run(
        [sys.executable, program, "cpu"], capture_output=True, text=True, check=True, cwd=REPOSITORY
    )
    assert [*map(float, found)] == pytest.approx([*map(float, plain.stdout.split())], rel=1e-4)


def test_the_start_is_one_line(tpu: Platform) -> None:
    done = tpu.run("import torch; print(torch.ones(2).cuda().sum().item())")
    assert done.stdout == "2.0\n"
    assert done.stderr == "morph: cuda is tpu (Google TPU, 1 device)\n"


@pytest.mark.parametrize(("backend", "status"), [("tpu", 2), ("cpu", 0)])
def test_without_a_plug_in_it_is_a_line(tpu: Platform, backend: str, status: int) -> None:
    program = "import torch; print(torch.ones(2).cuda().sum().item())"
    chosen = ["--backend", "tpu"] if backend == "tpu" else []
    variables = {name: value for name, value in tpu.environment.items() if name != "TPU_LIBRARY_PATH"}
    variables |= {"TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}
    done = complete([tpu.python, "-m", "morph", *chosen, "-c", program], env=variables)
    assert done.returncode == status, describe(done)
    assert "libtpu is not installed, and TPU_LIBRARY_PATH names no other PJRT plug-in" in done.stderr
    assert "Check failed" not in done.stderr


def test_a_log_that_the_user_asks_for_is_written(tpu: Platform) -> None:
    done = tpu.run("import torch; torch.ones(2).cuda()", environment={"TF_CPP_MIN_LOG_LEVEL": "0"})
    assert "PjRtCApiClient created" in done.stderr


NAMES = """
import importlib
import time

import torch

assert torch.cuda.is_available() and torch.cuda.device_count() == 1 and torch.cuda.current_device() == 0
assert torch.cuda.get_device_name() == torch.cuda.get_device_properties(0).name == "TPU v5e"
assert torch.cuda.get_device_capability() == (8, 0) and torch.cuda.is_bf16_supported()
x = torch.ones(3, device="cuda")
assert x.is_cuda and x.device == torch.device("cuda", 0) and isinstance(x, torch.cuda.FloatTensor)

stream, event = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True)
made = torch.Stream(device="cuda"), torch.Stream("cuda"), torch.Stream(torch.device("cuda"), priority=0)
assert {each.device for each in made} == {torch.device("cuda", 0)} and len({*made}) == 3
interfaces = importlib.import_module("torch._dynamo.device_interface")
assert interfaces.get_interface_for_device("cuda:0") is interfaces.get_interface_for_device("cuda")
with torch.cuda.stream(stream):
    assert torch.cuda.current_stream() == stream != torch.cuda.default_stream()
    event.record()
    y = x + 1
    y.record_stream(stream)
torch.cuda.current_stream().wait_stream(stream)
stream.synchronize()
event.synchronize()
assert event.query() and y.tolist() == [2, 2, 2]

busy = torch.ones(2000, 2000, device="cuda")
for _ in range(20):  # a busy machine may have computed when it is asked
    busy = busy @ busy
    if not torch.cuda.current_stream().query():
        break
else:
    raise AssertionError("a stream is never busy")
torch.cuda.synchronize()
ends = time.monotonic() + 60
while not torch.cuda.current_stream().query():  # its event is done some ms later, on a busy machine
    assert time.monotonic() < ends, "a stream is busy for ever"

module = torch.nn.Linear(2, 2)
torch.nn.init.zeros_(module.weight)
weight, optimizer = module.weight, torch.optim.SGD(module.parameters(), lr=0.5)
module.cuda()(torch.ones(1, 2, device="cuda")).sum().backward()
optimizer.step()
assert module.weight is weight and weight.is_cuda
assert module.cpu().weight is weight and weight.tolist() == [[-0.5, -0.5], [-0.5, -0.5]]

state = torch.cuda.get_rng_state()
first = torch.rand(2, device="cuda")
torch.cuda.set_rng_state(state)
assert torch.equal(first, torch.rand(2, device="cuda"))
assert torch.cuda.get_rng_state.__name__ == "get_rng_state"
for devices in ["cuda:0"], ["cuda"], [0], [torch.device("cuda")]:
    with torch.random.fork_rng(devices=devices):
        second = torch.rand(2, device="cuda")
    assert torch.equal(second, torch.rand(2, device="cuda"))
torch.cuda.seed()
assert isinstance(torch.cuda.initial_seed(), int)

from torch_tpu._internal.precision import precision_impl as vendors

assert torch.get_float32_matmul_precision() == "highest"
assert vendors._get_global_precision() == vendors.Precision.HIGHEST
torch.backends.cuda.matmul.allow_tf32 = True
assert vendors._get_global_precision() == vendors.Precision.HIGH
torch.set_float32_matmul_precision("medium")
assert vendors._get_global_precision() == vendors.Precision.DEFAULT

for refused in ("torch.cuda.CUDAGraph()", "torch.cuda.memory_snapshot()"):
    try:
        eval(refused)
    except AttributeError as error:
        assert "does not exist on backend 'tpu'" in str(error), error
    else:
        raise AssertionError(refused)
try:
    torch.cuda.set_device(1)
except RuntimeError as error:
    assert "invalid device ordinal: there is no cuda:1" in str(error)
else:
    raise AssertionError("a device that does not exist was chosen")
"""


def test_names_of_cuda_do_on_a_tpu_what_they_say(tpu: Platform) -> None:
    assert "UserWarning" not in tpu.run(NAMES).stderr


def test_memory_that_is_not_counted_is_refused_and_that_is_not_pinned_is_copied(tpu: Platform) -> None:
    program = "import torch; print(torch.ones(2).pin_memory().tolist()); torch.cuda.mem_get_info()"
    done = tpu.run(program, environment=WITHOUT_MEMORY, check=False)
    assert done.stdout == "[1.0, 1.0]\n", describe(done)
    assert "this PJRT plug-in has no statistics of its allocator" in done.stderr


def test_exhausted_memory_is_cudas_error_where_the_program_waits(tpu: Platform) -> None:
    program = "import torch; x = torch.ones(2**33, device='cuda'); x[0].item()"
    done = tpu.run(program, check=False)
    assert "torch.OutOfMemoryError: CUDA out of memory. local_scalar_dense()" in done.stderr, describe(done)


def test_what_has_no_kernel_is_computed_on_the_host_and_said_once(tpu: Platform) -> None:
    done = tpu.run("import torch; x = torch.eye(3).cuda(); print(x.trace().item(), x.trace().is_cuda)")
    assert done.stdout == "3.0 True\n"
    assert done.stderr.count("aten::trace is computed on the host: the device has no kernel for it") == 1


ANNOTATED = """
import torch

class Keeper:
    graphs: dict[int, torch.cuda.CUDAGraph] = {}

    def keep(self, graph: torch.cuda.CUDAGraph | None) -> torch.cuda.MemPool: ...

def make() -> torch.cuda.CUDAGraph:
    return torch.cuda.CUDAGraph()

assert not hasattr(torch.cuda, "CUDAGraph")
try:
    make()
except AttributeError as error:
    print(error)
"""


def test_classes_that_are_missing_can_be_named_in_annotations(tpu: Platform, tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(ANNOTATED, encoding="utf-8")
    assert "torch.cuda.CUDAGraph does not exist on backend 'tpu'" in tpu.run(program).stdout


def test_random_moves_end_as_by_a_model_of_cuda(tpu: Platform) -> None:
    done = complete([*tpu.command(morph=True), "-m", "tests.tpu.moves", "300"], env=tpu.environment)
    assert done.stdout == "done\n", describe(done)


def test_copies_of_pinned_memory_come_in_order(tpu: Platform) -> None:
    done = tpu.run(pathlib.Path(__file__).parent / "pinned.py")
    assert done.stdout == "done\n", describe(done)


def test_copies_end_before_what_is_not_pinned_changes(tpu: Platform) -> None:
    done = tpu.run(pathlib.Path(__file__).parent / "copies.py", environment=WITHOUT_MEMORY)
    assert done.stdout == "done\n"
    assert done.stderr.count('no memory is pinned for tpu here: to("cpu", non_blocking=True) waits') == 1


@pytest.mark.parametrize(
    ("habit", "before", "told"),
    [("shapes", "of one shape\n", "XLA compiled"), ("waits", "without a number\n", "were spent waiting for")],
)
def test_a_slow_habit_is_told_once(tpu: Platform, habit: str, before: str, told: str) -> None:
    program = pathlib.Path(__file__).parent / f"{habit}.py"
    lines = program.read_text(encoding="utf-8").splitlines()
    place = 1 + next(number for number, line in enumerate(lines) if line.endswith("# here"))
    done = tpu.run(program)
    assert done.stdout == before
    (said,) = (line for line in done.stderr.splitlines() if told in line)
    assert said.endswith(f"at {habit}.py:{place}")


def test_autocast_has_cudas_lists(tpu: Platform) -> None:
    program = pathlib.Path(__file__).parent / "autocast.py"
    assert tpu.run(program).stdout == platform("cpu", {}).run(program).stdout


def test_served_packages_beside_float64(tpu: Platform) -> None:
    done = tpu.run(pathlib.Path(__file__).parent / "packages.py")
    assert done.stdout == "done\n"
    assert "computed on the host" not in done.stderr


def test_a_group_of_one_reduces(tpu: Platform, tmp_path: pathlib.Path) -> None:
    program = f"""
import torch
import torch.distributed as dist

dist.init_process_group("nccl", init_method="file://{tmp_path}/store", rank=0, world_size=1)
x = torch.full((3,), 2.0, device="cuda")
dist.all_reduce(x)
assert dist.get_backend() == "nccl" and x.tolist() == [2, 2, 2]
"""
    tpu.run(program)
