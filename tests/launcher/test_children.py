"""Child processes run under morph, and their programs are rewritten like the first one."""

from __future__ import annotations

import json
import os
import pathlib
import sys

import pytest

from morph.finders.rewriting import candidates
from tests.launcher.conftest import Folder, Outcome

SITE = pathlib.Path(__file__).parent.parent.parent / "morph" / "running" / "startup" / "site"
# In a rewritten program "npu" equals "cuda"; checking that needs no device.
LOOK = """
import sys
def on_gpu(device="NPU"):
    return device.lower() == "cuda"
def watches():
    return any(type(finder).__module__.startswith("morph") for finder in sys.meta_path)
"""
NPU = {"MORPH_BACKEND": "npu"}


def rewritten(folder: Folder, *arguments: object, given: bytes = b"") -> Outcome:
    """Run a program under morph with NPU's literals; torch is not imported, so no device is needed."""
    outcome = folder.python("-m", "morph", *arguments, environment=NPU, given=given)
    assert outcome.status == 0, outcome.errors
    return outcome


@pytest.mark.parametrize(
    "kind",
    [["program.py"], ["-m", "program"], ["package"], ["-m", "package"], ["-c", LOOK + "print(on_gpu())"]],
)
def test_program_is_rewritten(folder: Folder, kind: list[str]) -> None:
    folder.write("program.py", LOOK + "print(on_gpu())")
    folder.write("package/__main__.py", LOOK + "print(on_gpu())")
    folder.write("package/__init__.py", "")
    assert rewritten(folder, *kind).output == "True\n"


def test_program_from_standard_input_is_rewritten(folder: Folder) -> None:
    assert rewritten(folder, "-", given=(LOOK + "print(on_gpu())").encode()).output == "True\n"


def test_nothing_is_rewritten_on_the_cpu(folder: Folder) -> None:
    folder.write("program.py", LOOK + "print(on_gpu())")
    assert folder.morph("program.py").output == "False\n"


@pytest.mark.parametrize(
    "child",
    [["child.py"], ["-u", "child.py"], ["-m", "child"], ["-um", "child"], ["package"], ["-m", "package"]],
)
def test_python_in_a_subprocess(folder: Folder, child: list[str]) -> None:
    text = LOOK + "print(on_gpu(), watches(), sys.argv[1:])"
    folder.write("child.py", text)
    folder.write("package/__main__.py", text)
    folder.write("package/__init__.py", "")
    folder.write(
        "program.py", f"import subprocess, sys; subprocess.run([sys.executable, *{child}, '-c', 'x'])"
    )
    assert rewritten(folder, "program.py").output == "True True ['-c', 'x']\n"


@pytest.mark.parametrize("spawner", ["os.system", "os.execv", "shell"])
def test_other_ways_to_start_python(folder: Folder, spawner: str) -> None:
    starts = {
        "os.system": "os.system(f'{sys.executable} child.py')",
        "os.execv": "os.execv(sys.executable, [sys.executable, 'child.py'])",
        "shell": "subprocess.run(f'cd / && {sys.executable} {os.path.abspath(\"child.py\")}', shell=True)",
    }
    folder.write("child.py", LOOK + "print(on_gpu(), watches())")
    folder.write("program.py", f"import os, subprocess, sys\n{starts[spawner]}\n")
    assert rewritten(folder, "program.py").output == "True True\n"


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
@pytest.mark.parametrize("kind", [["program.py"], ["-m", "program"], ["-m", "package.inner"]])
def test_multiprocessing(folder: Folder, method: str, kind: list[str]) -> None:
    text = f"""{LOOK}
import multiprocessing, multiprocessing.pool
class Point:
    pass
def work(point):
    return on_gpu(), watches(), type(point).__name__, __name__
def outer(point):
    with multiprocessing.get_context({method!r}).Pool(1) as pool:
        return pool.map(work, [point])[0]
if __name__ == "__main__":
    print(outer(Point()), __spec__ and __spec__.name)
    with multiprocessing.get_context({method!r}).Pool(1) as pool:
        print(pool.apply(work, [Point()]))
"""
    folder.write("program.py", text)
    folder.write("package/__init__.py", "")
    folder.write("package/inner.py", text)
    name = "__main__" if method == "fork" else "__mp_main__"
    worked = f"(True, True, 'Point', '{name}')"
    spec = {"program.py": "None", "program": "program", "package.inner": "package.inner"}[kind[-1]]
    assert rewritten(folder, *kind).output == f"{worked} {spec}\n{worked}\n"


def test_spawned_child_of_a_spawned_child(folder: Folder) -> None:
    program = f"""{LOOK}
import concurrent.futures, multiprocessing
context = multiprocessing.get_context("spawn")
def leaf(): return on_gpu(), __spec__, __file__
def branch():
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(leaf).result()
if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        print(pool.submit(branch).result())
"""
    path = folder.write("program.py", program)
    assert rewritten(folder, "program.py").output == f"(True, None, '{path}')\n"


DESCRIBE = (
    LOOK
    + """
import inspect, os
own = {name: value for name, value in vars().items() if isinstance(value, (str, dict, type(None)))}
print(own, type(__loader__).__name__, type(__builtins__).__name__, sys.argv, sys.path)
print(inspect.getsource(on_gpu), sys.modules.get("sitecustomize"), sys.path_hooks)
print(sys.modules["__main__"].on_gpu is on_gpu)
def fail(): raise ValueError(sys.argv[0] == "cuda")
"""
)


@pytest.mark.parametrize(
    "ending",
    ["", "fail()", "sys.exit(3)", "raise KeyboardInterrupt", "x = (", "sys.excepthook = print; fail()"],
)
def test_script_in_a_child_is_otherwise_as_python_runs_it(folder: Folder, ending: str) -> None:
    folder.write("tool/child.py", DESCRIBE + ending)
    folder.write(
        "program.py",
        "import subprocess, sys\n"
        "sys.exit(subprocess.call([sys.executable, './tool/child.py', 'argument']) % 256)",
    )
    plain = folder.python("program.py")
    ours = folder.python("-m", "morph", "program.py", environment=NPU)
    hidden = " at 0x"
    assert strip(ours.output, hidden) == strip(plain.output, hidden)
    assert strip(ours.errors, hidden) == strip(plain.errors, hidden)
    assert ours.status == plain.status


def strip(text: str, before: str) -> list[str]:
    """Return the text without the addresses of objects."""
    return [part.partition(">")[2] or part for part in text.split(before)]


def test_child_that_does_not_mention_cuda_is_not_claimed(folder: Folder) -> None:
    folder.write(
        "child.py", "import sys, traceback; traceback.print_stack(); print(len(sys.path_importer_cache))"
    )
    folder.write("program.py", "import subprocess, sys; subprocess.run([sys.executable, 'child.py'])")
    assert rewritten(folder, "program.py").errors.count("File") == 1


@pytest.mark.parametrize("module", ["torch.distributed.run", "torch", "torch_npu.tool", "accelerate.launch"])
def test_packages_that_speak_the_vendors_language_are_not_rewritten(module: str) -> None:
    assert candidates.literals("npu", "train") is not None
    assert candidates.literals("npu", module) is None


def test_environment_for_grandchildren_and_path_of_children(folder: Folder) -> None:
    program = """
import json, os, subprocess, sys
print(json.dumps([os.environ["PYTHONPATH"].split(os.pathsep), sys.path]), flush=True)
if len(sys.argv) < 3:
    subprocess.run([sys.executable, "program.py", *sys.argv[1:], "again"])
"""
    folder.write("program.py", program)
    outcome = folder.morph("program.py")
    plain = folder.python("program.py")
    ours = [json.loads(line) for line in outcome.output.splitlines()]
    expected = [json.loads(line) for line in plain.output.splitlines()]
    assert len(ours) == 3
    for (variable, path), (plain_variable, plain_path) in zip(ours, expected, strict=True):
        assert variable == [str(SITE), *plain_variable]
        assert path == plain_path


@pytest.mark.parametrize(
    "text",
    [
        "print('theirs')",
        "1 / 0",
        "import absent",
        "import sys; print(__file__, sys.modules[__name__].__spec__.name)",
        None,
    ],
)
def test_the_hidden_sitecustomize_runs(folder: Folder, text: str | None) -> None:
    if text is not None:
        folder.write("site/sitecustomize.py", text)
    folder.write("program.py", "import sys; print(sys.modules.get('sitecustomize'))")
    folder.write(
        "start.py", "import subprocess, sys; sys.exit(subprocess.call([sys.executable, 'program.py']))"
    )
    path = {"PYTHONPATH": os.pathsep.join([str(folder.path / "site"), str(SITE.parent.parent.parent)])}
    plain = folder.python("program.py", environment=path)
    child = folder.python("program.py", environment={"PYTHONPATH": f"{SITE}{os.pathsep}{path['PYTHONPATH']}"})
    assert child == plain


@pytest.mark.parametrize("option", ["-I", "-E", "-S"])
def test_isolated_interpreters_are_left_alone(folder: Folder, option: str) -> None:
    command = [sys.executable, option, "-c", "import sys; print('morph' in sys.modules)"]
    folder.write("program.py", f"import subprocess; subprocess.run({command!r})")
    assert folder.morph("program.py").output == "False\n"


def test_child_that_cannot_import_morph_says_so_and_starts(folder: Folder) -> None:
    broken = folder.path / "morph" / "running" / "startup" / "site"
    broken.mkdir(parents=True)
    (broken / "sitecustomize.py").write_bytes((SITE / "sitecustomize.py").read_bytes())
    (broken.parents[2] / "__init__.py").write_text("import absent")
    outcome = folder.python("-c", "print('started')", environment={"PYTHONPATH": str(broken)})
    assert outcome.output == "started\n"
    assert outcome.errors.startswith("morph: not active in this process: ")
    assert outcome.errors.count("\n") == 1


def test_program_in_a_program(folder: Folder) -> None:
    folder.write("inner.py", LOOK + "print(on_gpu(), __spec__, len(sys.path_hooks))")
    command = [sys.executable, "-m", "morph", "inner.py"]
    folder.write("outer.py", f"import subprocess; subprocess.run({command!r})")
    assert rewritten(folder, "outer.py").output == rewritten(folder, "inner.py").output


def test_a_start_imports_next_to_nothing(folder: Folder) -> None:
    look = "import sys; print([name for name in sys.modules if name.startswith('morph')], len(sys.modules))"
    environment = {"PYTHONPATH": f"{SITE}{os.pathsep}{SITE.parent.parent.parent}", **NPU}
    plain, ours = folder.python("-c", look), folder.python("-c", look, environment=environment)
    names = ["morph"]
    extra = int(ours.output.split()[-1]) - int(plain.output.split()[-1])
    assert ours.output.startswith(str(names))
    assert extra == len(names)


@pytest.mark.usefixtures("native_parts")
def test_options_of_the_command_reach_children(folder: Folder) -> None:
    folder.write("child.py", LOOK + "print(on_gpu())")
    folder.write("program.py", "import subprocess, sys; subprocess.run([sys.executable, 'child.py'])")
    assert folder.python("-m", "morph", "--backend", "npu", "program.py").output == "True\n"
    folder.write("child.py", "import torch; print(torch.cuda.device_count())")
    assert folder.morph("--devices", "3", "program.py").output == "3\n"


def test_options_of_the_interpreter_reach_children(folder: Folder) -> None:
    program = """
import multiprocessing, sys
def flags():
    print(sys.flags.optimize, sys.flags.dev_mode, sys.flags.utf8_mode, sys.warnoptions, flush=True)
if __name__ == "__main__":
    flags()
    process = multiprocessing.get_context("spawn").Process(target=flags)
    process.start(); process.join()
"""
    folder.write("program.py", program)
    interpreter = ["-OO", "-X", "dev", "-X", "utf8", "-W", "error::UserWarning"]
    outcome = folder.assert_same("program.py", interpreter=interpreter)
    first, second = outcome.output.splitlines()
    assert first == second


def test_deliberately_cleared_environment_ends_the_inheritance(folder: Folder) -> None:
    folder.write("child.py", LOOK + "print(on_gpu(), watches())")
    folder.write("program.py", "import subprocess, sys; subprocess.run([sys.executable, 'child.py'], env={})")
    assert rewritten(folder, "program.py").output == "False False\n"


def test_child_without_a_chosen_backend_reads_its_script_once(folder: Folder) -> None:
    """Detecting the installed backends reads a file of torch's that mentions CUDA."""
    folder.write("child.py", LOOK + "print(on_gpu() in (True, False), watches())")
    folder.write("program.py", "import subprocess, sys; subprocess.run([sys.executable, 'child.py'])")
    outcome = folder.python("-m", "morph", "program.py")
    assert (outcome.output, outcome.errors) == ("True True\n", "")
