"""nvidia-smi as programs call it, in child processes of a process under morph."""

import os
import re
import shlex
import signal
import subprocess
import xml.etree.ElementTree

import pytest
import torch

pytestmark = pytest.mark.usefixtures("worker")


def ask(line: str, status: int = 0) -> str:
    """Return what a shell prints for a command line."""
    done = subprocess.run(line, shell=True, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (status, ""), done
    return done.stdout


@pytest.mark.platforms("cpu", "npu", "simulated-npu")
def test_devices_are_those_of_torch():
    """Masks have no effect on nvidia-smi."""
    said = ask("nvidia-smi --query-gpu=index,name,memory.total,uuid --format=csv,noheader,nounits")
    rows = [line.split(", ") for line in said.splitlines()]
    properties = [torch.cuda.get_device_properties(index) for index in range(torch.cuda.device_count())]
    assert [(row[0], row[1]) for row in rows] == [(str(i), each.name) for i, each in enumerate(properties)]
    assert [int(row[2]) for row in rows] == [each.total_memory >> 20 for each in properties]


def test_lists_and_uuids():
    lines = ask("nvidia-smi -L").splitlines()
    found = [re.fullmatch(r"GPU (\d+): (.+) \(UUID: (GPU-[0-9a-f-]{36})\)", line) for line in lines]
    assert [each[1] for each in found if each] == [str(index) for index in range(len(lines))]
    assert f"GPU-{torch.cuda.get_device_properties(0).uuid}" == found[0][3]
    assert ask(f"nvidia-smi --list-gpus -i {found[0][3]}").splitlines() == lines[:1]
    assert ask("CUDA_VISIBLE_DEVICES= nvidia-smi -L").splitlines() == lines


def test_memory_and_processes_are_this_process():
    held = torch.empty(64 << 20, dtype=torch.uint8, device="cuda")
    memory = (
        "nvidia-smi --id=0 --query-gpu=memory.used,memory.free,memory.total --format=csv,nounits,noheader"
    )
    apps = "nvidia-smi --id=0 --query-compute-apps=pid,process_name,used_memory --format=csv"
    for _ in range(10):  # other processes come and go between the two commands
        used, free, total = map(int, ask(memory).split(", "))
        rows = ask(apps).splitlines()
        listed = sum(int(row.split(", ")[2].split()[0]) for row in rows[1:])
        if listed == used:
            break
    assert used >= 64
    assert used + free == pytest.approx(total, abs=1)
    assert rows[0] == "pid, process_name, used_gpu_memory [MiB]"
    (own,) = (row.split(", ") for row in rows[1:] if row.startswith(f"{os.getpid()}, "))
    assert "python" in own[1]
    assert own[2] == "64 MiB"
    assert listed == used
    del held


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ("--query-gpu=memory.used --format=csv", r"memory\.used \[MiB\]\n\d+ MiB"),
        ("--query-gpu=gpu_name,clocks.sm --format=csv,nounits", r"name, clocks\.current\.sm \[MHz\]\n.+, .+"),
        ("--query-gpu=utilization.gpu --format=csv,noheader", r"\d+ %"),
        ("--format=csv,noheader --query-gpu=compute_cap", r"\d\.\d"),
        ("--query-gpu=timestamp --format=csv,noheader", r"\d{4}/\d\d/\d\d \d\d:\d\d:\d\d\.\d{3}"),
        ("--query-gpu fan.speed --format csv,noheader,nounits", r"\[N/A\]|\d+"),
        ("-q -d Memory | grep -A4 GPU | grep Free", r" +Free +: \d+ MiB"),
        ("-q | grep 'GPU UUID'", r" +GPU UUID +: GPU-[0-9a-f-]+"),
        ("| grep -o 'CUDA Version: [0-9.]*'", r"CUDA Version: \d+\.\d"),
        ("| grep -oP '\\d+MiB /\\s+\\d+MiB'", r"\d+MiB / +\d+MiB"),
        ("topo -m | head -2", r"\tGPU0.*\nGPU0\t X .*"),
        ("--help-query-gpu | grep -A1 temperature.gpu | head -1", r'"temperature\.gpu"'),
    ],
)
def test_lines_of_public_programs(line, expected):
    first = ask(f"nvidia-smi {line}")
    assert re.match(expected, first), first


@pytest.mark.parametrize(
    ("line", "said", "status"),
    [
        (
            "--query-gpu=cuda_version --format=csv",
            'Field "cuda_version" is not a valid field to query.\n\n',
            2,
        ),
        ("--query-gpu=name", "\"--format=\" switch is missing. Please run 'nvidia-smi -h' for help.\n", 2),
        ("--bogus", "ERROR: Option --bogus is not recognized. Please run 'nvidia-smi -h' for help.\n\n", 2),
        ("-i 63 -L", "No devices were found\n", 6),
        ("mig -lgi", "No MIG-enabled devices found.\n", 6),
        ("mig -cgi 19", "mig is served with -lgi and -lci only: morph divides no device\n", 3),
        ("-pm 1", "-pm is not supported: morph only reads devices\n", 3),
    ],
)
def test_refusals(line, said, status):
    assert ask(f"nvidia-smi {line}", status) == said


def test_xml_is_that_of_nvidias_tools():
    log = xml.etree.ElementTree.fromstring(ask("nvidia-smi -q -x"))
    assert int(log.findtext("attached_gpus")) == torch.cuda.device_count()
    gpu = log.find("gpu")
    assert gpu.get("id") == gpu.findtext("pci/pci_bus_id")
    assert gpu.findtext("product_name") == torch.cuda.get_device_name(0)
    assert gpu.findtext("fb_memory_usage/total") == f"{torch.cuda.mem_get_info(0)[1] >> 20} MiB"
    assert re.fullmatch(r"\d+ %", gpu.findtext("utilization/gpu_util"))
    assert gpu.find("processes") is not None


def test_the_screen_has_the_shape_of_nvidias():
    lines = ask("nvidia-smi").splitlines()
    assert {len(line) for line in lines[1:] if line} == {91}
    assert lines[2].startswith("| NVIDIA-SMI ")
    (row,) = (line for line in lines if re.match(r"\|   0  ", line))
    assert row.split("|")[1].split()[-1] == "On"
    assert any("MiB /" in line and "%" in line for line in lines)


def test_repeats_until_it_is_ended():
    words = shlex.split("nvidia-smi --query-gpu=index --format=csv -lms 10 -i 0")
    with subprocess.Popen(words, stdout=subprocess.PIPE, text=True) as child:
        assert [child.stdout.readline() for _ in range(3)] == ["index\n", "0\n", "0\n"]
        child.send_signal(signal.SIGTERM)
    assert ask("nvidia-smi --query-gpu=index --format=csv,noheader -l 1 | head -1") == "0\n"


def test_torchs_report_of_the_environment():
    from torch.utils import collect_env

    run = collect_env.run
    assert collect_env.get_nvidia_driver_version(run) is not None
    assert torch.cuda.get_device_name(0) in collect_env.get_gpu_info(run)
