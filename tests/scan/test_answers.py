"""A scan reports for each backend what the tables say."""

from __future__ import annotations

import pathlib

from morph.backends.tables import table
from morph.source.scan.statuses import Answer
from morph.source.scan.uses import Kind
from tests.scan.test_scanning import scanned


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
    assert dict(zip(names, status["torch.cuda.Event"], strict=True)) == dict.fromkeys(names, "same")
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
