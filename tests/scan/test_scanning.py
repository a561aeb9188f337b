"""What a scan finds in the samples, in torch's own source, and in files that are not Python."""

import ast
import gc
import importlib.util
import json
import pathlib
import textwrap
import time

import pytest

from morph.backends.tables import table
from morph.source.resolution import Resolution
from morph.source.scan.causes import causes
from morph.source.scan.files import NothingToScanError, files, locate
from morph.source.scan.report import Report
from morph.source.scan.rules import rules
from morph.source.scan.scanning import EVERYTHING, mentions_any, scan, uses_of, uses_of_file
from morph.source.scan.uses import Use
from tests.platforms import Platform, complete, describe
from tests.scan import samples

TORCH = pathlib.Path(next(iter(importlib.util.find_spec("torch").submodule_search_locations)))  # type: ignore

# found by a person in torch 2.13.0
OF_TORCH = {
    "multiprocessing/reductions.py": [
        (100, "torch.cuda.Event.from_ipc_handle", ""),
        (178, "torch.cuda._lazy_init", ""),
        (341, '"cuda"', ""),
        (593, ".is_cuda", ""),
        (624, "torch.cuda.Event", ""),
    ],
    "utils/benchmark/utils/compile.py": [
        (31, "torch.cuda.is_available", ""),
        (32, "torch.backends.cuda.matmul.allow_tf32", ""),
        (32, "torch.cuda.get_device_capability", ""),
        (32, "torch.cuda.get_device_capability", "capability-check"),
        (92, "torch.compile", "compiled"),
        (164, "torch.cuda.is_available", ""),
        (169, "torch.cuda.is_available", ""),
    ],
    "utils/collect_env.py": [
        (77, '"nccl"', ""),
        (209, "torch.cuda.is_available", ""),
        (211, "torch.cuda.get_device_properties", ""),
        (218, "torch.cuda.get_device_name", ""),
        (230, "'nvcc --version'", "nvidia-command"),
        (237, "CUDA_PATH", "toolkit-path"),
        (272, "'nvidia-smi'", "nvidia-command"),
        (673, "torch.cuda.is_available", ""),
        (674, "torch.cuda.init", ""),
        (675, "CUDA_MODULE_LOADING", ""),
        (712, "torch.cuda.is_available", ""),
        (713, "torch.version.cuda", ""),
        (754, "torch.version.cuda", ""),
        (864, "torch.cuda.is_available", ""),
    ],
    "nn/parallel/parallel_apply.py": [
        (7, "torch.cuda._utils._get_device_index", ""),
        (70, "torch.cuda._utils._get_device_index", ""),
    ],
    "optim/lbfgs.py": [],
}


def uses(source: str) -> list[Use]:
    text = textwrap.dedent(source)
    return uses_of(Resolution(ast.parse(text)), text)


def scanned(*paths: pathlib.Path) -> Report:
    return scan(files(map(str, paths)), table.backend_names())


@pytest.mark.parametrize("file", samples.FILES, ids=lambda file: file.stem)
def test_every_use_is_found_and_nothing_else(file: pathlib.Path) -> None:
    assert samples.found(uses_of_file(file)) == samples.expected(file)


def test_samples_show_every_rule() -> None:
    shown = {use.rule for file in samples.FILES for use in uses_of_file(file)} - {""}
    assert shown == set(rules()) - {
        "cuda-assembly",
        "cuda-feature",
        "cuda-library",
        "cuda-source",
        "unparsed",
    }


@pytest.mark.parametrize("name", OF_TORCH)
def test_uses_in_torch_are_those_that_a_person_finds(name: str) -> None:
    found = [(use.place.line, use.name, use.rule) for use in uses_of_file(TORCH / name)]
    assert sorted(found) == sorted(OF_TORCH[name])


def test_files_that_are_not_walked_have_nothing_to_find() -> None:
    passed = [file for file in sorted((TORCH / "nn").rglob("*.py")) if not mentions_any(file.read_bytes())]
    assert len(passed) > 50
    for file in passed:
        text = file.read_text(encoding="utf-8")
        assert uses_of(Resolution(ast.parse(text)), text, EVERYTHING) == []


def test_a_file_is_walked_for_a_single_use(tmp_path: pathlib.Path) -> None:
    file, missed = tmp_path / "one.py", []
    for name, source in samples.single_uses():
        file.write_text(source)
        if not any(name in use.name for use in uses_of_file(file)):
            missed.append(name)
    assert missed == []


@pytest.mark.platforms("simulated-npu")
def test_every_name_that_a_run_asks_for_is_found_where_it_asks(
    platform: Platform, tmp_path: pathlib.Path
) -> None:
    program, recorded = samples.FOLDER / "rehearsed.py", tmp_path / "recorded.json"
    command = [*platform.command(morph=True), "--json", str(recorded), str(program)]
    done = complete(command, env=platform.environment)
    assert done.returncode == 0, describe(done)
    asked = [
        (each["line"], each["name"])
        for each in json.loads(recorded.read_text())["names"]
        if pathlib.Path(each["file"]) == program
    ]
    found = [(use.place.line, use.place.end_line, use.name) for use in uses_of_file(program)]
    missed = [
        (line, name)
        for line, name in asked
        if not any(first <= line <= last and f"{use}.".startswith(f"{name}.") for first, last, use in found)
    ]
    assert missed == []
    assert len(asked) > 20


def test_columns_count_characters() -> None:
    [use] = uses("import torch\nx = 'ähnlich', torch.cuda.current_device()\n")[-1:]
    assert (use.place.column, use.place.end_column) == (16, 41)


def test_a_name_bound_in_many_ways_is_all_of_them() -> None:
    source = """
        import torch
        try:
            from torch.cuda.amp import autocast
        except ImportError:
            from contextlib import nullcontext as autocast
        with autocast():
            pass
        torch = torch or None
        x = x.y
    """
    assert [(use.place.line, use.name) for use in uses(source)] == [
        (4, "torch.cuda.amp.autocast"),
        (7, "torch.cuda.amp.autocast"),
    ]


def test_very_deep_source() -> None:
    text = "import torch\nx = " + " + ".join(["torch.cuda.device_count()"] * 400)
    assert len(uses_of(Resolution(ast.parse(text)), text)) == 400


def test_what_is_no_python_is_told_with_its_line(tmp_path: pathlib.Path) -> None:
    (tmp_path / "good.py").write_text("import torch.cuda\n")
    (tmp_path / "old.py").write_text("import torch\n\nprint 'cuda'\n")
    (tmp_path / "null.py").write_bytes(b"x = 1\0\n")
    (tmp_path / "coded.py").write_bytes(b"# coding: cp1252\nx = '\xe4', 'cuda'\n")
    (tmp_path / "wrong.py").write_bytes(b"x = '\xe4\xe4'\n")
    report = scanned(tmp_path)
    assert [(each.file.name, each.line) for each in report.unparsed] == [
        ("null.py", 1),
        ("old.py", 3),
        ("wrong.py", 1),
    ]
    assert [(each.file.name, each.use.name) for each in report.findings] == [
        ("coded.py", '"cuda"'),
        ("good.py", "torch.cuda"),
    ]
    assert report.look


def test_a_folder_is_scanned_without_caches_and_environments(tmp_path: pathlib.Path) -> None:
    for name in ("a.py", "sub/b.py", ".git/c.py", "__pycache__/d.py", "venv/e.py", "csrc/f.cu", "g.txt"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).touch()
    (tmp_path / "venv" / "pyvenv.cfg").touch()
    names = [str(file.relative_to(tmp_path)) for file in files([str(tmp_path), str(tmp_path / "a.py")])]
    assert names == ["a.py", "csrc/f.cu", "sub/b.py"]
    [finding] = scanned(tmp_path / "csrc").findings
    assert (finding.use.rule, finding.answers["rocm"].look, finding.answers["npu"].look) == (
        "cuda-source",
        False,
        True,
    )


def test_packages_are_found_without_an_import() -> None:
    assert locate("torch.nn") == TORCH / "nn"
    assert locate("torch.nn.functional") == TORCH / "nn" / "functional.py"
    for name in ("no_such_package", "torch.no_such_module", "torch._C", "sys"):
        with pytest.raises(NothingToScanError, match=name):
            locate(name)


@pytest.mark.long
def test_time_grows_with_the_source(tmp_path: pathlib.Path) -> None:
    def seconds(functions: int) -> float:
        file = tmp_path / f"program{functions}.py"
        body = "    if torch.cuda.get_device_capability() >= (8, 0):\n        x.cuda(), cupy.sum(x)\n"
        file.write_text("import torch, cupy\n" + "".join(f"def f{n}(x):\n{body}" for n in range(functions)))
        began = time.process_time()
        report = scanned(file)
        assert [len(cause.findings) for cause in causes(report) if cause.look] == [functions, 1]
        return time.process_time() - began

    seconds(10)  # loads the tables
    assert min(seconds(4000) for _ in range(2)) < 10 * max(seconds(1000) for _ in range(3))


@pytest.mark.long
@pytest.mark.parametrize(("text", "element"), [("x = {%s}", '"cuda": 1, '), ("x = ['é', %s]", '"cuda", ')])
def test_time_grows_with_one_display(text: str, element: str) -> None:
    def seconds(number: int) -> float:
        source = text % (element * number)
        gc.collect()
        began = time.process_time()
        assert len(uses(source)) == number
        return time.process_time() - began

    seconds(10)  # loads the tables
    gc.disable()  # which takes longer for all that other tests left
    try:
        assert min(seconds(20000) for _ in range(3)) < 10 * max(seconds(5000) for _ in range(3))
    finally:
        gc.enable()
