"""The judge of PyTorch's own tests, on a tree of one file: every outcome, and every reason, is told."""

import json
import pathlib

import pytest
import torch.testing._internal

from tests.pytorch import record, vendor
from tests.pytorch.reasons import fails_on_a_card, reason, sibling
from tests.pytorch.running import Judge, Result, sample

FILE = """
import os
import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase, run_tests

class TestOne(TestCase):
    def test_passes(self, device):
        self.assertEqual(torch.ones(2, device=device).sum().item(), 2)

    def test_is_skipped(self, device):
        self.skipTest("for a reason")

    def test_fails_everywhere(self, device):
        self.assertEqual(1, 2)

    def test_fails_on_cuda(self, device):
        self.assertEqual(torch.ones(2, device=device).device.type, "cpu")

    def test_has_no_kernel(self, device):
        if device != "cpu":
            raise NotImplementedError("\\"sum\\" not implemented for 'Half'")

    def test_ends_its_process(self, device):
        if device != "cpu":
            os._exit(1)

instantiate_device_type_tests(TestOne, globals())
"""


def write_tree(tree: pathlib.Path, text: str) -> None:
    (tree / "test").mkdir(parents=True)
    (tree / "test" / "test_one.py").write_text(text)
    (tree / "torch" / "testing").mkdir(parents=True)
    (tree / "torch" / "testing" / "_internal").symlink_to(torch.testing._internal.__path__[0])


@pytest.mark.long
def test_outcomes_and_reasons(tmp_path: pathlib.Path) -> None:
    tree, results = tmp_path / "tree", tmp_path / "results"
    write_tree(tree, FILE)
    on_device = Judge(tree, results, processes=1).run("test_one.py")
    failed = [sibling(result.id) for result in on_device if result.outcome == "failed"]
    on_cpu = Judge(tree, results, "cpu", processes=1).run("test_one.py", failed)
    found = record.outcome("test_one.py", on_device, on_cpu, tests=8)
    assert (found.passed, found.skipped, found.left) == (1, 1, 2)
    assert found.failed == {
        "version": ["TestOneCUDA::test_fails_everywhere_cuda"],
        "kernel": ["TestOneCUDA::test_has_no_kernel_cuda"],
        "morph": ["TestOneCUDA::test_ends_its_process_cuda", "TestOneCUDA::test_fails_on_cuda_cuda"],
    }
    assert sorted(Judge(tree, results).run("test_one.py"), key=str) == sorted(on_device, key=str)


VENDORS = """
import torch
from torch.testing._internal.common_device_type import instantiate_device_type_tests
from torch.testing._internal.common_utils import TestCase, run_tests

class TestOne(TestCase):
    def test_passes(self, device):
        self.assertEqual(torch.ones(2, device=device).sum().item(), 2)

    def test_fails(self, device):
        self.assertEqual(1, 2)

    def test_has_another_name(self, device):
        self.assertNotIn("cuda", str(torch.ones(2, device=device).device))

    def test_uses_what_is_missing(self, device):
        torch.cuda.ComplexFloatStorage(1) if device.startswith("cuda") else None

instantiate_device_type_tests(TestOne, globals())
"""


@pytest.mark.long
def test_what_passes_as_the_vendors_device(tmp_path: pathlib.Path, cann: dict[str, str]) -> None:
    write_tree(tmp_path, VENDORS)
    found = vendor.compare("test_one.py", *vendor.alone_and_under_morph(tmp_path, tmp_path, cann, 1))
    assert (found.passed, found.skipped) == (3, 0)
    assert found.failed == {
        "morph": ["TestOneCUDA::test_has_another_name_cuda"],
        "vendor": ["TestOneCUDA::test_uses_what_is_missing_cuda"],
    }


def test_a_sample_stays_where_tests_come_and_go() -> None:
    ids = [f"TestOne::test_{number}" for number in range(100)]
    chosen = sample(ids, 10)
    assert sample(reversed(ids), 10) == chosen
    assert sample([name for name in ids if name != chosen[3]], 9) == [*chosen[:3], *chosen[4:]]
    assert sample(reversed(ids), 10, "2") == sample(ids, 10, "2") != chosen


def test_what_changed_since_the_record(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(record, "RECORD", tmp_path / "pytorch.json")
    record.RECORD.write_text(json.dumps({"test_one.py": {"failed": {"version": ["a", "b"], "morph": ["c"]}}}))
    outcomes = {"a": "failed", "b": "passed", "c": "skipped", "d": "failed", "e": "passed", "f": "xfailed"}
    results = [Result(name, outcome, 0.0, "") for name, outcome in outcomes.items()]
    assert record.changed("test_one.py", results) == ["b (passed)", "d (failed)"]


def test_what_fails_no_longer_leaves_the_record(
    tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(record, "RECORD", tmp_path / "pytorch.json")
    kept = {"passed": 7, "skipped": 1, "failed": {"version": ["a", "b"], "morph": ["c"]}}
    record.RECORD.write_text(json.dumps({"test_one.py": kept}))
    assert record.failing("test_one.py") == ["a", "b", "c"]
    outcomes = {"a": "failed", "b": "xfailed", "c": "skipped"}
    record.amend("test_one.py", [Result(name, outcome, 0.0, "") for name, outcome in outcomes.items()])
    found = json.loads(record.RECORD.read_text())["test_one.py"]
    assert found == {"passed": 8, "skipped": 2, "failed": {"version": ["a"]}}


def test_what_fails_on_a_real_card_too_is_not_morphs_fault() -> None:
    name = min(fails_on_a_card("test_dlpack.py"))
    assert reason("test_dlpack.py", Result(name, "failed", 0.0, ""), {}, ()) == "version"
    assert reason("test_one.py", Result(name, "failed", 0.0, ""), {}, ()) == "morph"
