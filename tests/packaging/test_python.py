"""From a checkout, a Python that is too old is told so in one line."""

import ast
import re
import sys

import pytest

import morph
from morph.base import toml
from tests.platforms import REPOSITORY, complete

# the older Python is played by this one: what is read before the check must be grammar of that Python
OLD = """
import sys

class VersionInfo(tuple):
    major, minor = property(lambda self: self[0]), property(lambda self: self[1])

sys.version_info = VersionInfo((3, 9, 18, "final", 0))
before = set(sys.modules)
try:
    {start}
finally:
    print(sorted(name for name in set(sys.modules) - before if name.partition(".")[0] == "morph"))
"""
RUN = "import runpy; runpy.run_module('morph', run_name='__main__', alter_sys=True)"
SAID = "morph needs Python 3.10 or newer, and this is Python 3.9"


@pytest.mark.parametrize(
    ("start", "line"),
    [(RUN, f"morph: {SAID}"), ("import morph; morph.activate()", f"ImportError: {SAID}")],
    ids=["run", "import"],
)
def test_one_line_says_which_python_is_needed(start: str, line: str) -> None:
    done = complete([sys.executable, "-c", OLD.format(start=start)], cwd=REPOSITORY)
    assert done.stderr.splitlines()[-1] == line
    assert done.stdout == "['morph']\n"  # nothing else was read, which an old Python might not understand
    assert done.returncode == (2 if start == RUN else 1)


@pytest.mark.parametrize("file", ["__init__.py", "__main__.py", "running/startup/site/sitecustomize.py"])
def test_what_is_read_before_is_grammar_of_old_pythons(file: str) -> None:
    source = (REPOSITORY / "morph" / file).read_text()
    tree = ast.parse(source, feature_version=(3, 7))
    for node in ast.walk(tree):  # evaluated when the file is read, and X | Y is no type before 3.10
        if isinstance(node, ast.FunctionDef):
            given = [*node.args.args, *node.args.kwonlyargs]
            for annotation in [node.returns, *(each.annotation for each in given)]:
                assert "|" not in ast.unparse(annotation or ast.Constant(None)) or isinstance(
                    annotation, ast.Constant
                ), node.name


def test_it_is_what_the_metadata_say() -> None:
    project = toml.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">={}.{}".format(*morph.PYTHON)
    assert re.findall(r"Python (\d\.\d+) or newer", (REPOSITORY / "README.md").read_text()) == ["3.10"]
