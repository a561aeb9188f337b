"""One test file of PyTorch's, in workers that are started anew after a crash or a time limit."""

import dataclasses
import hashlib
import json
import os
import pathlib
import re
import subprocess
import sys
from collections.abc import Collection, Iterable, Mapping

from tests.platforms import REPOSITORY

PYTEST = ["-q", "-p", "tests.pytorch.plugin", "-p", "no:cacheprovider", "--noconftest"]
PYTEST += ["-p", "no:logging"]  # it formats what a test logs, whose arguments its own handler reads
PYTEST += ["--max-worker-restart", "1000", "--timeout-method", "thread"]
DISTRIBUTED = "distributed/"  # the folder of the tests that start processes, each on a device of its own
# what these look at are the kernels in Triton that inductor generates for a GPU
IN_TRITON = (
    "inductor/test_torchinductor.py",
    "inductor/test_triton_kernels.py",
    "inductor/test_cuda_repro.py",
)
_OF_THE_CPU = re.compile(r"(SweepInputs)?CpuTests?::")  # inductor's, beside those of a GPU in the same file
ON_SEVERAL = (DISTRIBUTED, "jit/test_cuda.py", "test_cuda_multigpu.py")  # skipped on a single device


@dataclasses.dataclass(frozen=True)
class Result:
    """What came of a test.

    Attributes:
        id: Class and function, ``"TestTorchDeviceTypeCUDA::test_add_cuda_float32"``.
        outcome: "passed", "failed", "skipped" or "xfailed" (failed as the test expects).
        seconds: How long it took.
        why: The message of a failure, or the reason of a skip.
    """

    id: str
    outcome: str
    seconds: float
    why: str


def sample(ids: Iterable[str], count: int, seed: str = "") -> list[str]:
    """Return some of the ids, the same ones for a seed, and most of them still where tests come and go."""
    return sorted(ids, key=lambda name: hashlib.sha256(f"{seed}{name}".encode()).digest())[:count]


@dataclasses.dataclass(frozen=True)
class Judge:
    """How the tests of a tree are run.

    Attributes:
        tree: The source tree of a release of PyTorch.
        folder: Where the results go, a file for each test file; what is there already is not run again.
        device: "cuda" under morph, "cpu" on plain torch, or "privateuse1" on a vendor's package alone.
        processes: How many workers.
        limit: Seconds for each test.
        variables: Environment variables of the workers, those that choose a vendor.
    """

    tree: pathlib.Path
    folder: pathlib.Path
    device: str = "cuda"
    processes: int = 2
    limit: int = 60
    variables: Mapping[str, str] = dataclasses.field(default_factory=dict)

    def run(self, file: str, wanted: Collection[str] | None = None) -> list[Result]:
        """Run the tests of a file that have no result yet, all or the wanted ones, and return all results."""
        chosen = self._path(file, "chosen")
        if wanted is None:
            wanted = self.collected(file)
        if missing := set(wanted) - {result.id for result in self.results(file)}:
            chosen.write_text("".join(f"{name}\n" for name in sorted(missing)))
            self._pytest(file, chosen, "-n", str(self.processes), "--timeout", str(self.limit))
        return self.results(file)

    def results(self, file: str) -> list[Result]:
        """Return the results so far; the last one of each test counts."""
        path = self._path(file, "jsonl")
        lines: Iterable[str] = path.read_text().splitlines() if path.exists() else ()
        return list({result.id: result for result in (Result(**json.loads(line)) for line in lines)}.values())

    def forget(self, file: str) -> None:
        """Drop the results of a file, so that its tests run again."""
        self._path(file, "jsonl").unlink(missing_ok=True)

    def collected(self, file: str) -> list[str]:
        """Return the ids of a file's tests."""
        ids = self._path(file, "ids")
        if not ids.exists():
            self._pytest(file, ids, "--collect-only")
        names = ids.read_text().splitlines() if ids.exists() else []
        return [name for name in names if self.device == "cpu" or not _OF_THE_CPU.match(name)]

    def _pytest(self, file: str, chosen: pathlib.Path, *options: str) -> None:
        morph = ["--morph"] if self.device == "cuda" else []
        command = [sys.executable, "-m", "pytest", *morph, *PYTEST, *options, file]
        with self._path(file, "log").open("w") as log:
            subprocess.run(
                command,
                cwd=self.tree / "test",
                env=self._variables(file, chosen),
                stdout=log,
                stderr=subprocess.STDOUT,
                check=False,
            )

    def _variables(self, file: str, chosen: pathlib.Path) -> dict[str, str]:
        return {
            **os.environ,
            **({"MORPH_DEVICES": "4"} if file.startswith(ON_SEVERAL) else {}),
            **({"MORPH_INDUCTOR": "triton"} if file in IN_TRITON else {}),
            "MORPH_BACKEND": "cpu",
            "MORPH_PYTORCH_TREE": str(self.tree),
            "MORPH_PYTORCH_RESULTS": str(self._path(file, "jsonl")),
            "MORPH_PYTORCH_CHOSEN": str(chosen),
            "PYTORCH_TESTING_DEVICE_ONLY_FOR": self.device,
            # run as scripts, as PyTorch runs them, they find what lies beside them
            "PYTHONPATH": os.pathsep.join([str(REPOSITORY), str((self.tree / "test" / file).parent)]),
            "OMP_NUM_THREADS": "1",
            **self.variables,
        }

    def _path(self, file: str, kind: str) -> pathlib.Path:
        self.folder.mkdir(parents=True, exist_ok=True)
        return self.folder / f"{file.removesuffix('.py').replace('/', '.')}.{self.device}.{kind}"
