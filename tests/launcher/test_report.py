"""``--report``: what a program used of CUDA on a real device, in all its processes."""

import datetime
import json
import os
import pathlib
import shutil
import subprocess
import sys
import textwrap

import pytest
import torch

import morph
from morph.backends.tables.table import Status
from morph.evidence.rehearsal.findings import Finding, Result
from morph.evidence.rehearsal.recording import Ending, Use
from morph.evidence.reporting import Circumstances
from morph.evidence.reporting.page import page
from tests import origin
from tests.platforms import Platform, complete, describe

PROGRAM = """
import subprocess, sys
import torch
x = torch.ones(3, device="cuda")
torch.cuda.synchronize()
if sys.argv[1:]:
    subprocess.run([sys.executable, __file__], check=True)
    hasattr(torch.cuda, "gds")
    from pynvml import NVML_SUCCESS, nvmlInit
    import pynvml.smi
"""


def report(platform: Platform, program: pathlib.Path, name: str) -> subprocess.CompletedProcess[str]:
    command = [*platform.command(morph=True), "--report", name, str(program), "parent"]
    return complete(command, env=platform.environment, cwd=program.parent, timeout=120)


@pytest.mark.long_on("npu")
@pytest.mark.platforms("cpu", "npu")
def test_names_and_operators_of_every_process(platform: Platform, tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = report(platform, program, "report.json")
    assert done.returncode == 1, describe(done)
    told = json.loads((tmp_path / "report.json").read_text())
    assert (told["backend"], told["processes"]) == (platform.backend, 2)
    names = {each["name"]: each for each in told["names"]}
    synchronize, gds = names["torch.cuda.synchronize"], names["torch.cuda.gds"]
    assert (synchronize["count"], synchronize["file"], synchronize["line"]) == (2, str(program), 5)
    assert (gds["count"], gds["status"]) == (1, "missing")
    served = {name: each["status"] for name, each in names.items() if name.startswith("pynvml")}
    assert served == {
        "pynvml": "same",
        "pynvml.NVML_SUCCESS": "same",
        "pynvml.nvmlInit": "emulated",
        "pynvml.smi": "missing",
    }
    assert names["pynvml.smi"]["note"].endswith("pip install pynvml")
    assert told["ending"]["error"] == "ModuleNotFoundError"
    assert told["operators"]["aten::empty.memory_format"] >= 2
    assert told["program"] == f"{program} parent"
    assert told["versions"]["torch"] == torch.__version__
    assert ("torch-npu" in told["versions"]) == (platform.name == "npu")
    written = datetime.datetime.fromisoformat(told["written"])
    assert abs(datetime.datetime.now().astimezone() - written) < datetime.timedelta(hours=1)
    assert done.stderr.splitlines()[-1] == "morph: wrote report.json"


WORK = """
import threading
import torch
model = torch.nn.Linear(3, 2).cuda()
torch.ones(2).add(1)
def train():
    model(torch.ones(4, 3, device="cuda")).sum().backward()
thread = threading.Thread(target=train)
thread.start()
thread.join()
train()
"""


@pytest.mark.platforms("cpu")
def test_operators_on_the_software_device(platform: Platform, tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(WORK)
    done = report(platform, program, "report.json")
    assert done.stderr.splitlines()[1:] == ["morph: wrote report.json"], describe(done)
    counts = json.loads((tmp_path / "report.json").read_text())["operators"]
    assert (counts["aten::addmm"], counts["aten::sum"], counts["aten::mm"]) == (2, 2, 2)
    assert counts["aten::_to_copy"] == 2, "of the layer's two parameters"
    assert "aten::add.Tensor" not in counts, "which ran on the host"
    assert "aten::linear" not in counts, "which is made of others"


@pytest.mark.platforms("cpu")
def test_operators_are_counted_for_a_report_only(platform: Platform) -> None:
    counted = """
        import morph
        from morph.software.machine import started
        def counts():
            torch.ones(2, device="cuda")
            return started().native.counted_operators()
        with morph.activated("cpu", observer=lambda name: None):
            import torch
            before = counts()
            assert before["aten::ones"] == morph.status().caught["aten::ones"] == 1
        with morph.activated("cpu"):
            assert counts() == before and morph.status().caught == {}
    """
    origin.run(platform, textwrap.dedent(counted))


@pytest.mark.platforms("cpu")
@pytest.mark.parametrize(
    "asked",
    [
        *("", "\ntorch.cuda._lazy_init()"),
        pytest.param("\ngetattr(torch.cuda, '_lazy_init')", marks=pytest.mark.long),
    ],
)
def test_what_torch_itself_asks_for_is_not_the_programs(
    platform: Platform, tmp_path: pathlib.Path, asked: str
) -> None:
    program = tmp_path / "program.py"
    program.write_text(f'import torch\ntorch.ones(3, device="cuda"){asked}\ntorch.cuda.synchronize()\n')
    assert report(platform, program, "report.json").returncode == 0
    names = {each["name"] for each in json.loads((tmp_path / "report.json").read_text())["names"]}
    assert names == {"torch.cuda.synchronize"} | ({"torch.cuda._lazy_init"} if asked else set())


@pytest.mark.platforms("cpu")
def test_a_page(platform: Platform, tmp_path: pathlib.Path) -> None:
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    done = report(platform, program, "report.html")
    assert done.returncode == 1, describe(done)
    shown = (tmp_path / "report.html").read_text()
    assert (
        '<tr class="missing"><td>torch.cuda.gds</td><td>1</td><td>missing</td><td>program.py:8</td>' in shown
    )
    assert f"<dt>program<dd><code>{program} parent</code>\n<dt>ended<dd>at program.py:10, with " in shown
    assert f"<dt>with<dd>morph {morph.__version__}, torch {torch.__version__}, Python " in shown
    assert '<tr class="operator"><td>aten::empty.memory_format</td><td>2</td></tr>' in shown
    assert done.stderr.splitlines()[-1] == "morph: wrote report.html"
    assert "$" not in shown.partition("<style>")[0] + shown.partition("</style>")[2]


@pytest.mark.platforms("cpu")
@pytest.mark.parametrize("options", [["--report", "report.txt"], ["--report", "r.html", "--rehearse", "npu"]])
def test_what_cannot_be_reported_is_refused(platform: Platform, options: list[str]) -> None:
    command = [sys.executable, "-m", "morph", *options, "program.py"]
    done = complete(command, env=platform.environment)
    assert done.returncode == 2
    assert "--report cannot go with --rehearse, and needs a file that ends in .html or .json" in done.stderr


@pytest.mark.platforms("cpu")
def test_a_program_without_torch(platform: Platform, tmp_path: pathlib.Path) -> None:
    command = [*platform.command(morph=True), "--report", "report.json", "-c", "print(1)"]
    done = complete(command, env=platform.environment, cwd=tmp_path, timeout=120)
    assert done.stdout == "1\n"
    assert "there is nothing to report in report.json: the program did not import torch" in done.stderr


MEASURED = """
<script>
document.title = document.documentElement.scrollWidth <= innerWidth ? "fits" : "is cut off";
</script>
"""


@pytest.mark.parametrize("width", [390, 1280])
def test_a_page_fits_a_phone_and_a_screen(width: int, tmp_path: pathlib.Path) -> None:
    browser = shutil.which("chromium")
    if browser is None:
        pytest.skip("chromium is not installed")
    use = Use("torch.cuda.get_device_capability", 12345, "/somewhere/a_program_with_a_long_name.py", 1234)
    finding = Finding(use, Status.MISSING, "there is no such thing; do without it on this device")
    operators = {"aten::_amp_foreach_non_finite_check_and_unscale_.an_overload_of_it": 12345}
    found = Result("npu", "Huawei Ascend", (finding,), operators, 2, Ending("SystemExit", "3"))
    versions = {"torch": "2.13.0+a_build_whose_label_is_longer_than_any_line_of_a_phone"}
    file = tmp_path / "page.html"
    file.write_text(page(found, Circumstances(f"{'long/' * 20}train.py", "today", versions)) + MEASURED)
    options = ["--headless", "--no-sandbox", "--disable-gpu", f"--user-data-dir={tmp_path / 'profile'}"]
    command = [browser, *options, f"--window-size={width},800", "--dump-dom", file.as_uri()]
    shown = complete(command, env=os.environ, timeout=120)
    assert "<title>fits</title>" in shown.stdout, describe(shown)
