"""Notebook cells: calls of `torch.cuda`, comparisons, and tracebacks."""

import json
import re

import pytest

from tests.platforms import Platform

SHELL = """
import contextlib, io, json, re, warnings
from IPython.core.interactiveshell import InteractiveShell

warnings.simplefilter("ignore")  # both IPython and torch_npu warn of virtual environments and of shells
shell = InteractiveShell.instance()

def run(cell):
    done = shell.run_cell(cell, store_history=True)
    done.raise_error()
    return done.result

def shown(cell):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        run(cell)
    return printed.getvalue()

"""
PROGRAM = """
def failing(cell):
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        shell.run_cell(cell, store_history=True)
    return re.sub(r"\\x1b\\[[0-9;]*m", "", printed.getvalue())

COMPARED = '''
import torch
where = torch.ones(2, device="cuda").device
match where.type:
    case "cuda": matched = True
    case _: matched = False
[where.type == "cuda", where.type in ("cuda", "mps"), str(where).startswith("cuda"), matched]
'''
FAILS = '''
def on_gpu(x):
    if x.device.type == "cuda":
        return x.unknown
    return x.unknown_too

on_gpu(torch.ones(2).cuda())
'''
run("import morph; morph.activate(BACKEND)")
found = [run(COMPARED), run("torch.cuda.is_available(), torch.cuda.device_count() > 0")]
found += [failing(FAILS), run("%timeit -n1 -r1 where.type == 'cuda'")]
run("morph.deactivate()")
found += [run("where.type == 'cuda'"), run("torch.cuda.is_available()")]
print(json.dumps(found))
"""


@pytest.mark.long_on("npu")
@pytest.mark.platforms("cpu", "npu")
def test_cells(platform: Platform) -> None:
    done = platform.run(SHELL + PROGRAM.replace("BACKEND", repr(platform.name)), morph=False)
    compared, asked, said, _, *afterwards = json.loads(done.stdout.splitlines()[-1])
    assert compared == [True] * 4
    assert asked == [True, True]
    assert "----> 6 on_gpu(torch.ones(2).cuda())" in said
    failed = re.search(r"----> (\d) +return x\.(\w+)", said)
    assert failed is not None
    assert failed.groups() == ("3", "unknown")
    assert afterwards == [platform.name == "cpu", False]


EXTENSION = """
USE = "import torch; print(torch.cuda.is_available())"
LOAD = "%load_ext morph"
said = [shown(LOAD), shown(USE), shown(LOAD), shown("%reload_ext morph"), shown(USE)]
said += [shown("import morph; morph.activate()"), shown("print(morph.status())")]
said += [shown("%unload_ext morph"), shown(USE), shown("morph.status()")]
print(json.dumps(said))
"""


@pytest.mark.long_on("npu")
@pytest.mark.platforms("cpu", "npu")
def test_the_extension(platform: Platform) -> None:
    done = platform.run(SHELL + EXTENSION, morph=False, environment={"MORPH_BACKEND": platform.backend})
    loaded, used, again, reloaded, used_again, state, all_of_it, unloaded, left, ended = json.loads(
        done.stdout.splitlines()[-1]
    )
    assert (loaded, used, reloaded, used_again) == ("", "True\n", "", "True\n")
    assert again.startswith("The morph extension is already loaded.")
    assert (unloaded, left) == ("", "False\n")
    device = platform.device_type
    short = f"Status(active=True, backend={platform.backend!r}, device_type={device!r}, ...)"
    assert state.partition("]: ")[2] == f"{short}\n"
    assert "skipped=" in all_of_it
    assert ended.partition("]: ")[2] == "Status(active=False)\n"
