"""Child processes run under morph, like the first one."""

import json
import os
import pathlib
import sys

import pytest

from tests.launcher.conftest import Folder, Outcome

SITE = pathlib.Path(__file__).parent.parent.parent / "morph" / "running" / "startup" / "site"
LOOK = """
import sys
def watches():
    names = [getattr(finder, "__name__", type(finder).__module__) for finder in sys.meta_path]
    return any(name.startswith("morph") for name in names)
"""
NPU = {"MORPH_BACKEND": "npu"}


def under_morph(folder: Folder, *arguments: object) -> Outcome:
    """Run a program under morph; torch is not imported, so no device is needed."""
    outcome = folder.python("-m", "morph", *arguments, environment=NPU)
    assert outcome.status == 0, outcome.errors
    return outcome


STARTS = {
    **{
        f"run([python, *{child}, '-c', 'x'])": "True True ['-c', 'x']\n"
        for child in (
            *(["child.py"], ["-u", "child.py"], ["-m", "child"]),
            *(["-um", "child"], ["package"], ["-m", "package"]),
        )
    },
    "os.system(f'{python} child.py')": "True True []\n",
    "os.execv(python, [python, 'child.py'])": "True True []\n",
    "run(f'cd / && {python} {os.path.abspath(\"child.py\")}', shell=True)": "True True []\n",
    "run([python, 'child.py'], env={})": "False False []\n",  # a cleared environment ends the inheritance
    **{f"run([python, '{option}', 'child.py'])": "False False []\n" for option in ("-I", "-E", "-S")},
}


@pytest.mark.parametrize("start", STARTS)
def test_python_in_a_subprocess(folder: Folder, start: str) -> None:
    text = LOOK + "print(watches(), 'morph' in sys.modules, sys.argv[1:])"
    folder.write("child.py", text)
    folder.write("package/__main__.py", text)
    folder.write("package/__init__.py", "")
    imports = "import os, sys\nfrom subprocess import run\npython = sys.executable\n"
    folder.write("program.py", imports + start)
    assert under_morph(folder, "program.py").output == STARTS[start]


@pytest.mark.parametrize("method", ["spawn", "forkserver", "fork"])
@pytest.mark.parametrize("kind", [["program.py"], ["-m", "program"], ["-m", "package.inner"]])
def test_multiprocessing(folder: Folder, method: str, kind: list[str]) -> None:
    text = f"""{LOOK}
import multiprocessing, multiprocessing.pool
class Point:
    pass
def work(point):
    return watches(), type(point).__name__, __name__
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
    worked = f"(True, 'Point', '{name}')"
    spec = {"program.py": "None", "program": "program", "package.inner": "package.inner"}[kind[-1]]
    assert under_morph(folder, *kind).output == f"{worked} {spec}\n{worked}\n"


def test_spawned_child_of_a_spawned_child(folder: Folder) -> None:
    program = f"""{LOOK}
import concurrent.futures, multiprocessing
context = multiprocessing.get_context("spawn")
def leaf(): return watches(), __spec__, __file__
def branch():
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        return pool.submit(leaf).result()
if __name__ == "__main__":
    with concurrent.futures.ProcessPoolExecutor(1, mp_context=context) as pool:
        print(pool.submit(branch).result())
"""
    path = folder.write("program.py", program)
    assert under_morph(folder, "program.py").output == f"(True, None, '{path}')\n"


DESCRIBE = (
    LOOK
    + """
import inspect, os
own = {name: value for name, value in vars().items() if isinstance(value, (str, dict, type(None)))}
print(own, type(__loader__).__name__, type(__builtins__).__name__, sys.argv, sys.path)
print(inspect.getsource(watches), sys.modules.get("sitecustomize"), sys.path_hooks)
print(sys.modules["__main__"].watches is watches)
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


def test_a_childs_script_is_run_by_python_itself(folder: Folder) -> None:
    folder.write(
        "child.py", "import sys, traceback; traceback.print_stack(); print(len(sys.path_importer_cache))"
    )
    folder.write("program.py", "import subprocess, sys; subprocess.run([sys.executable, 'child.py'])")
    assert under_morph(folder, "program.py").errors.count("File") == 1


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
    folder.write("inner.py", LOOK + "print(watches(), __spec__, len(sys.path_hooks))")
    command = [sys.executable, "-m", "morph", "inner.py"]
    folder.write("outer.py", f"import subprocess; subprocess.run({command!r})")
    assert under_morph(folder, "outer.py").output == under_morph(folder, "inner.py").output


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
    folder.write("program.py", "import subprocess, sys; subprocess.run([sys.executable, 'child.py'])")
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
