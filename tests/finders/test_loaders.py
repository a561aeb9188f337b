"""A module is rewritten whichever loader loads it, and only processes of the same kind share its bytecode."""

from __future__ import annotations

import importlib.util
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

from tests.platforms import REPOSITORY, describe

KIND = '''"""A module."""

from __future__ import annotations

import dataclasses


@dataclasses.dataclass
class Device:
    type: str


def kind(device: Device) -> str:
    assert device is not None
    return "gpu" if device.type == "cuda" else "cpu"
'''
WAITING = """

async def kinds(device):
    yield device.type
    yield str(await type_of(device))

async def type_of(device):
    return device.type

async def gather(device):
    found = [each async for each in kinds(device) if each == "cuda"]
    on_gpu = [(await type_of(device)) == "cuda" for _ in range(2)]
    async for each in kinds(device):
        on_gpu.append(each == "cuda")
    return "gpu" if len(found) == 2 and all(on_gpu) else "cpu" if not found and not any(on_gpu) else "mixed"
"""
PROGRAM = """
import sys
from importlib.machinery import SourceFileLoader
if sys.argv[1:]:
    from morph.finders.rewriting.finder import rewriter
    from morph.finders.rewriting.literals import Literals, Word
    from morph.finders.scope import Scope
    rewriter.install(Scope(), lambda module: Literals((Word("cuda", "npu"), Word("nccl", "hccl"))))
%s
print(kind(Device("npu")))
"""
FROM_LOCATION = """
import importlib.util
spec = importlib.util.spec_from_file_location("kinds", "kinds.py"%s)
module = importlib.util.module_from_spec(spec)
sys.modules["kinds"] = module
spec.loader.exec_module(module)
from kinds import kind, Device
"""
LOADERS = {
    "import": "from kinds import kind, Device",
    "submodule": "from package.kinds import kind, Device",
    "namespace": "from space.inner.kinds import kind, Device",
    "zip": "sys.path.insert(0, 'kinds.zip'); from zipped import kind, Device",
    "zip with bytecode": "sys.path.insert(0, 'compiled.zip'); from zipped import kind, Device",
    "spec_from_file_location": FROM_LOCATION % "",
    "subclass": "class Loader(SourceFileLoader): pass\n"
    + FROM_LOCATION % ", loader=Loader('kinds', 'kinds.py')",
    "transforming": "class Loader(SourceFileLoader):\n"
    "  def get_data(self, path):\n"
    "    data = super().get_data(path)\n"
    "    return data.replace(b'gpu', b'gpu') if path.endswith('.py') else data\n"
    + FROM_LOCATION
    % ", loader=Loader('kinds', 'kinds.py')",
    "load_module": "import warnings; warnings.simplefilter('ignore')\n"
    "module = SourceFileLoader('kinds', 'kinds.py').load_module()\nfrom kinds import kind, Device",
    "lazy": FROM_LOCATION % ", loader=importlib.util.LazyLoader(SourceFileLoader('kinds', 'kinds.py'))",
    "reload": "import kinds, importlib; importlib.reload(kinds); from kinds import kind, Device",
    "run_path": "import runpy; globals().update(runpy.run_path('kinds.py'))",
    "run_module": "import runpy; globals().update(runpy.run_module('kinds', alter_sys=True))",
    "compile": "exec(compile(open('kinds.py').read(), 'kinds.py', 'exec'))",
    "compiled bytes": "exec(compile(open('kinds.py', 'rb').read(), b'kinds.py', 'exec'))",
    "compiled tree": "import ast; exec(compile(ast.parse(open('kinds.py').read()), 'kinds.py', 'exec'))",
    "compiled text": "exec(compile(open('kinds.py').read(), '<string>', 'exec'))",
    "codeop": "import codeop; exec(codeop.Compile()(open('kinds.py').read(), '<console>', 'exec'))",
    "pickled": "import pickle\n"
    "exec(pickle.loads(pickle.dumps(compile))(open('kinds.py').read(), 'kinds.py', 'exec'))",
    "IPython": "from IPython.core.interactiveshell import InteractiveShell\n"
    "shell = InteractiveShell.instance(colors='NoColor')\n"
    "shell.run_cell(open('kinds.py').read()).raise_error()\n"
    "kind, Device = shell.user_ns['kind'], shell.user_ns['Device']",
    "%run": "from IPython.core.interactiveshell import InteractiveShell\n"
    "shell = InteractiveShell.instance(colors='NoColor')\n"
    "shell.run_line_magic('run', 'kinds.py')\n"
    "kind, Device = shell.user_ns['kind'], shell.user_ns['Device']",
    "autoreload": "from IPython.core.interactiveshell import InteractiveShell\n"
    "import os, shutil\n"
    "shutil.copy('kinds.py', 'edited.py'); os.utime('edited.py', (1, 1))\n"
    "shell = InteractiveShell.instance(colors='NoColor')\n"
    "setup = '%load_ext autoreload\\n%autoreload 2\\nimport edited; from edited import *'\n"
    "shell.run_cell(setup).raise_error()\n"
    "text = open('kinds.py').read(); open('edited.py', 'w').write(text + 'edits = 1')\n"
    "shell.run_cell('kind(Device(\"cpu\"))').raise_error()\n"
    "kind, Device = shell.user_ns['kind'], shell.user_ns['Device']\n"
    "assert shell.user_ns['edited'].edits == 1",
    "keywords": "exec(compile(mode='exec', filename='kinds.py', source=open('kinds.py').read()))",
    "expression": "from kinds import Device\n"
    "kind = eval(compile('lambda device: \"gpu\" if device.type == \"cuda\" else \"cpu\"', '<x>', 'eval'))",
    "latin-1": "from package.latin import kind, Device",
    "asynchronous": "import asyncio; from package.waiting import gather, Device\n"
    "kind = lambda device: asyncio.run(gather(device))",
    "doctest": "import doctest, kinds; from kinds import Device\n"
    "found = []\n"
    'text = \'>>> found.append("gpu" if device.type == "cuda" else "cpu")\'\n'
    "names = dict(found=found, device=Device('n' + 'pu'))\n"
    "example = doctest.DocTestParser().get_doctest(text, names, 'x', 'kinds.py', 0)\n"
    "doctest.DocTestRunner().run(example)\n"
    "kind = lambda device: found[0]",
    "coverage": "import coverage\n"
    "measured = coverage.Coverage(data_file=None, branch=True, include='kinds.py')\n"
    "measured.start()\nfrom kinds import kind, Device\nkind(Device('cuda')), kind(Device('cpu'))\n"
    "measured.stop()\nimport io; assert measured.report(file=io.StringIO()) == 100",
    "beartype": "from beartype.claw import beartype_packages; beartype_packages(('package',))\n"
    "from package.kinds import kind, Device",
    "typeguard": "import typeguard; typeguard.install_import_hook('package')\n"
    "from package.kinds import kind, Device",
    "jaxtyping": "import jaxtyping; jaxtyping.install_import_hook('package', None).__enter__()\n"
    "from package.kinds import kind, Device",
}


@pytest.fixture
def folder(tmp_path: pathlib.Path) -> pathlib.Path:
    for file in ("kinds.py", "package/kinds.py", "space/inner/kinds.py", "zipped.py"):
        (tmp_path / file).parent.mkdir(exist_ok=True, parents=True)
        (tmp_path / file).write_text(KIND)
    (tmp_path / "package" / "__init__.py").write_text("")
    latin = KIND.replace("A module", "# \N{LATIN SMALL LETTER E WITH ACUTE}")
    (tmp_path / "package" / "latin.py").write_text(f"# -*- coding: latin-1 -*-\n{latin}", encoding="latin-1")
    (tmp_path / "package" / "waiting.py").write_text(KIND + WAITING)
    make = """
        import py_compile, zipfile
        with zipfile.ZipFile("kinds.zip", "w") as archive: archive.write("zipped.py")
        unchecked = py_compile.PycInvalidationMode.UNCHECKED_HASH
        py_compile.compile("zipped.py", "zipped.pyc", invalidation_mode=unchecked)
        with zipfile.ZipFile("compiled.zip", "w") as archive:
            archive.write("zipped.py"); archive.write("zipped.pyc")
    """
    python(tmp_path, "-c", textwrap.dedent(make))
    return tmp_path


def python(folder: pathlib.Path, *arguments: str, **variables: str) -> str:
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("MORPH", "PYTHON"))}
    environment = {**kept, "PYTHONPATH": str(REPOSITORY), "IPYTHONDIR": str(folder), **variables}
    done = subprocess.run(
        [sys.executable, *arguments],
        cwd=folder,
        env=environment,
        timeout=120,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, describe(done)
    return done.stdout


@pytest.mark.parametrize("loader", LOADERS)
def test_a_module_is_rewritten_for_processes_that_rewrite(loader: str, folder: pathlib.Path) -> None:
    needed = "IPython" if loader in {"IPython", "%run", "autoreload"} else loader
    if needed in {
        "IPython",
        "beartype",
        "typeguard",
        "jaxtyping",
        "coverage",
    } and not importlib.util.find_spec(needed):
        pytest.skip(f"{needed} is not installed")
    (folder / "program.py").write_text(PROGRAM % LOADERS[loader])
    for rewritten in ("rewritten", "", "rewritten", ""):  # each meets the bytecode that the others cached
        said = python(folder, "program.py", *filter(None, [rewritten]))
        assert said.split()[-1] == ("gpu" if rewritten else "cpu")


@pytest.mark.parametrize("option", ["-O", "-OO", "-B", "-I"])
def test_options_of_python(option: str, folder: pathlib.Path) -> None:
    found = f"import sys; sys.path[:0] = ['.', {str(REPOSITORY)!r}]\n"
    (folder / "program.py").write_text(found + PROGRAM % LOADERS["submodule"])
    for rewritten in ("rewritten", "", "rewritten", ""):
        said = python(folder, option, "program.py", *filter(None, [rewritten]))
        assert said.split()[-1] == ("gpu" if rewritten else "cpu")


def test_flags_of_the_code_that_compiles_are_inherited(folder: pathlib.Path) -> None:
    text = "def f(device: absent): return device.type == 'cuda'"
    inherits = (
        f"from __future__ import annotations\nnames = {{}}\nexec(compile({text!r}, 'x.py', 'exec'), names)\n"
    )
    (folder / "inherits.py").write_text(inherits)
    source = (
        "import inherits\nfrom kinds import Device\nkind = inherits.names['f']\nprint(kind.__annotations__)"
    )
    (folder / "program.py").write_text(PROGRAM % source)
    assert python(folder, "program.py", "rewritten").split() == ["{'device':", "'absent'}", "True"]
    assert python(folder, "program.py").split() == ["{'device':", "'absent'}", "False"]


def test_pytest_s_modules(folder: pathlib.Path) -> None:
    (folder / "conftest.py").write_text(KIND)
    (folder / "test_kinds.py").write_text(
        "import os\nimport conftest\nfrom conftest import Device\n\n"
        "def test_kind():\n    expected = os.environ['EXPECTED']\n"
        "    assert conftest.kind(Device('npu'.lower()[:3])) == expected\n"
        "    device = Device(os.environ['TYPE'])\n"
        "    on_gpu = expected == 'gpu'\n"
        "    if on_gpu:\n"
        "        assert device.type == 'cuda' and 'cuda' == device.type and device.type in ('cuda', 'mps')\n"
        "        assert device.type.startswith('cuda'), device\n"
        "        assert not device.type != 'cuda'\n"
        "    else:\n        assert device.type != 'cuda'\n".replace("'npu'.lower()[:3]", "os.environ['TYPE']")
    )
    (folder / "program.py").write_text(
        PROGRAM.replace('print(kind(Device("npu")))', "")
        % ("import pytest; sys.exit(pytest.main(['-q', '-p', 'no:cacheprovider', 'test_kinds.py']))")
    )
    for rewritten in ("rewritten", "", "rewritten", ""):
        expected = "gpu" if rewritten else "cpu"
        python(folder, "program.py", *filter(None, [rewritten]), EXPECTED=expected, TYPE="npu")


def test_cells_know_what_former_cells_have_bound(folder: pathlib.Path) -> None:
    pytest.importorskip("IPython")
    cells = """
from IPython.core.interactiveshell import InteractiveShell
shell = InteractiveShell.instance(colors='NoColor')
bound = 'import os\\nd = Device(os.environ["TYPE"]); t = d.type'
for cell in (open('kinds.py').read(), bound, 'found = t == "cuda"; t == "cuda"'):
    shell.run_cell(cell).raise_error()
found = shell.user_ns['found'], shell.user_ns['_']
kind = lambda device: found
from kinds import Device
"""
    (folder / "program.py").write_text(PROGRAM % cells)
    assert python(folder, "program.py", "rewritten", TYPE="npu").splitlines()[-1] == "(True, True)"
    assert python(folder, "program.py", TYPE="npu").splitlines()[-1] == "(False, False)"
