"""Memory that nothing was written to: ``--sanitize=init`` finds each read of it, and spares right twins."""

import re

import pytest

from tests.platforms import REPOSITORY
from tests.software.hidden.test_hidden import PROGRAM
from tests.software.order.test_order import run

SOURCE = (REPOSITORY / "tests/software/unwritten/programs.py").read_text()
TWINS = re.findall(r"^def (\w+)\(right\)", SOURCE, re.MULTILINE)
WRONG, RIGHT = ([f"{twin}_{name}" for name in TWINS] for twin in ("wrong", "right"))
RIGHT += re.findall(r"^def (right_\w+)", SOURCE, re.MULTILINE)
OWN = PROGRAM.replace("software.hidden", "software.unwritten")
READ = "CUDA error: memory is read that nothing was written to (found by MORPH_SANITIZE=init)"


@pytest.fixture(scope="module")
def found(native_parts):
    """What each piece ended with, by its name."""
    lines = run("--sanitize=init", "-c", OWN, *RIGHT, *WRONG, *RIGHT).stdout.splitlines()
    assert len(lines) == len(WRONG) + 2 * len(RIGHT)
    return dict(line.partition(" ")[::2] for line in lines)


@pytest.mark.parametrize("name", WRONG)
def test_a_read_of_what_was_not_written_is_found(found, name):
    assert found[name].startswith(f"{READ}|  ")


def test_nothing_is_said_of_the_right_twins(found):
    assert {name: found[name] for name in RIGHT} == dict.fromkeys(RIGHT, "")


def test_the_report_names_the_operator_and_the_memory(found):
    line = next(n for n, text in enumerate(SOURCE.splitlines(), 1) if "torch.empty(" in text)
    told = f"{READ}|  addmm reads a tensor, made at programs.py:{line}, and nothing of it was written"
    assert found["wrong_parameter"].replace("linear", "addmm").replace(" mm ", " addmm ") == told


@pytest.mark.long
def test_nothing_is_found_without_it(native_parts):
    assert run("-c", OWN, *WRONG).stdout.split() == WRONG
