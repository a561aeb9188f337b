"""CUDA source, notebooks, and what a scan reports for each backend."""

import json
import pathlib
import textwrap

import pytest

from morph.backends.tables import table
from morph.kernels.extensions import headers
from morph.source.scan.report import Finding
from morph.source.scan.scanning import uses_of_file
from morph.source.scan.statuses import Answer
from morph.source.scan.uses import Kind
from tests.scan.test_scanning import scanned

KERNEL = """
    #include <cuda_runtime.h>
    #include <cudnn.h>
    #include <texture_fetch_functions.h>
    // asm("in a comment"); #include <mma.h>
    #define LANE(x) asm volatile("mov.u32 %0, %%laneid;" : "=r"(x))
    __device__ const char* text = "asm volatile(tex1D(" ;
    __global__ void inner(int* out) { asm volatile("" ::: "memory"); }
    #ifdef USE_ROCM
    __global__ void outer(int* out) { asm("s_nop 0");
    #else
    __global__ void outer(int* out) {
    #endif
      inner<<<1, 1>>>(out);
    }
    void run(int* out) { outer<<<1, 1>>>(out); }
"""
FOUND = [
    (1, "kernel.cu", "cuda-source"),
    (3, "cudnn.h", "cuda-library"),
    (4, "texture_fetch_functions.h", "cuda-feature"),
    (6, "inline PTX", "cuda-assembly"),
    (14, "dynamic parallelism", "cuda-feature"),
]


@pytest.fixture
def findings(tmp_path: pathlib.Path) -> list[Finding]:
    (tmp_path / "kernel.cu").write_text(textwrap.dedent(KERNEL))
    (tmp_path / "host.h").write_text('inline void pause() { asm volatile("pause"); }\n')
    (tmp_path / "device.h").write_text(
        '__device__ void pause() { asm volatile("wgmma.fence.sync.aligned;"); }\n'
        '__device__ void moved(int x) { asm volatile(MOVE(1) : "+r"(x)); }\n'  # known to the preprocessor
        '__device__ void add(int* p) { asm("red.add.s32 [%0], 1;" ::_CG_ASM_PTR_CONSTRAINT(p)); }\n'
    )
    return list(scanned(tmp_path).findings)


def test_what_is_refused_is_named_with_its_line(findings: list[Finding]) -> None:
    shown = [(each.use.place.line, each.use.name, each.use.rule) for each in findings]
    assert shown == [(1, "inline PTX", "cuda-feature"), (3, "inline PTX", "cuda-assembly"), *FOUND]
    assert findings[0].file.name == "device.h"


def test_what_is_for_releases_before_cuda_12_is_not_looked_at(tmp_path: pathlib.Path) -> None:
    old = 'asm("cvta.to.shared.u64 p, %0");'  # DeepSpeed, for releases before 11: no semicolon is there
    (tmp_path / "a.cu").write_text(
        f"#if __CUDACC_VER_MAJOR__ >= 11\n#else\n__device__ void a() {{ {old} }}\n#endif\n"
        f"#if (__CUDACC_VER_MAJOR__ < 12)\n__device__ void b() {{ {old} }}\n#endif\n"
        f"#if __CUDACC_VER_MAJOR__ >= 13\n__device__ void c() {{ {old} }}\n#endif\n"
    )
    found = [each.use.place.line for each in scanned(tmp_path).findings if each.use.rule == "cuda-feature"]
    assert found == [9]


def test_the_fate_of_a_source_on_each_backend(findings: list[Finding]) -> None:
    [source] = [each for each in findings if each.use.rule == "cuda-source"]
    refused = {name for name, answer in source.answers.items() if answer.look}
    assert refused == {"npu", "mlu", "musa", "xpu", "tpu"}
    assert "morph refuses it" in source.answers["npu"].note
    assert "ports the sources" in source.answers["musa"].note
    assert "hipify" in source.answers["rocm"].note
    assert "g++" in source.answers["cpu"].note


def test_a_library_has_amds_in_its_place_and_a_feature_has_nothing(findings: list[Finding]) -> None:
    library, folder, *_, nested = [each for each in findings if each.file.name == "kernel.cu"][1:]
    assert not library.answers["rocm"].look
    assert library.answers["cpu"].look
    assert all(answer.look for answer in [*folder.answers.values(), *nested.answers.values()])
    assert (
        nested.answers["cpu"].note == "the software device does not run it; launch both kernels from the host"
    )


def test_what_is_served_of_a_refused_folder_is_not_refused() -> None:
    assert headers.refused("cub/cub.cuh") is None
    assert headers.refused("thrust/partition_copy.h") == "thrust/"
    assert headers.refused("cudnn.h") == "cudnn.h"


CELLS = [
    ("markdown", ["`torch.cuda`\n"]),
    ("code", ["%matplotlib inline\n", "!nvidia-smi -L\n", "import torch\n", "torch.cuda.init()"]),
    ("code", ["%%bash\n", "echo cuda:0"]),
    ("code", ["for x in ():\n", "    %time x.cuda()\n", "    x.cuda?\n", "    %load_ext cuda"]),
    ("code", "y.cuda()\nz.cuda()"),
]


def test_uses_are_on_the_lines_of_the_file(tmp_path: pathlib.Path) -> None:
    cells = [
        {"cell_type": kind, "metadata": {"hidden": True, "id": None}, "source": source}
        for kind, source in CELLS
    ]
    file = tmp_path / "notes.ipynb"
    file.write_text(json.dumps({"cells": cells, "nbformat": 4}, indent=1), encoding="utf-8")
    found = {(use.place.line, use.name) for use in uses_of_file(file)}
    lines = file.read_text().splitlines()
    shell, start, timed, text = (
        next(number for number, line in enumerate(lines, 1) if word in line)
        for word in ("nvidia-smi", "init()", "%time", "y.cuda")
    )
    assert found == {
        (shell, "os.system('nvidia-smi -L')"),
        (start, "torch.cuda.init"),
        (timed, ".cuda()"),
        (text, ".cuda()"),
        (text + 1, ".cuda()"),
    }


@pytest.mark.parametrize("content", ["", "{}", "[]", '{"worksheets": []}', "{not json}", "\0"])
def test_what_is_no_notebook(content: str, tmp_path: pathlib.Path) -> None:
    file = tmp_path / "notes.ipynb"
    file.write_text(content)
    with pytest.raises(ValueError, match="is not a notebook of version 4"):
        uses_of_file(file)


def test_answers_are_those_of_the_tables(tmp_path: pathlib.Path) -> None:
    file = tmp_path / "program.py"
    file.write_text(
        "import torch\n"
        "torch.cuda.gds, torch.cuda.Event, torch.cuda.no_such_name\n"
        "x.device.type == 'cuda'; x.cuda(); {'cuda': 1, 'npu': 2}\n"
    )
    answers = {each.use.name: each.answers for each in scanned(file).findings}
    status = {
        name: [each.status.value if each.status else each.look for each in answer.values()]
        for name, answer in answers.items()
    }
    names = table.backend_names()
    assert status["torch.cuda.gds"][names.index("npu")] == "missing"
    assert dict(zip(names, status["torch.cuda.Event"], strict=True)) == {
        **dict.fromkeys(names, "same"),
        "tpu": "renamed",
    }
    assert set(status["torch.cuda.no_such_name"]) == {"missing"}
    assert dict(zip(names, status[".cuda()"], strict=True)) == {
        **dict.fromkeys(names, "renamed"),
        "rocm": "same",
        "cpu": "same",
    }
    compared = [each for each in scanned(file).findings if each.use.kind is Kind.COMPARISON]
    assert [(each.look, each.differs) for each in compared] == [(False, False)] * 2


def worded(answer: Answer) -> str:
    return f"{answer.status.value if answer.status else None} {answer.note}".strip()


def test_answers_about_variables_say_what_they_become(tmp_path: pathlib.Path) -> None:
    names = ("CUDA_VISIBLE_DEVICES", "PYTORCH_CUDA_ALLOC_CONF", "CUDA_LAUNCH_BLOCKING")
    file = tmp_path / "program.py"
    file.write_text("import os\n" + "".join(f"os.environ['{name}'] = '1'\n" for name in names))
    answers = {each.use.name: each.answers for each in scanned(file).findings}
    backends = ("npu", "mlu", "rocm")
    said = {backend: [worded(answers[name][backend]) for name in names] for backend in backends}
    no_variable = "noop the vendor documents no variable that makes launches wait"
    assert said == {
        "npu": [
            "renamed ASCEND_RT_VISIBLE_DEVICES",
            "renamed PYTORCH_NPU_ALLOC_CONF",
            "renamed ASCEND_LAUNCH_BLOCKING",
        ],
        "mlu": ["renamed MLU_VISIBLE_DEVICES", "renamed PYTORCH_MLU_ALLOC_CONF", no_variable],
        "rocm": ["same", "same", "renamed HIP_LAUNCH_BLOCKING"],
    }
