"""Ray's tasks and actors in an enabled environment; Ray is installed by an extra of its own, `test-ray`."""

import importlib.util
import os
import pathlib

import pytest

from tests.installation import FreshEnvironment

PROGRAM = """
import sys
import ray

ray.init(num_cpus=2, num_gpus=1, include_dashboard=False, logging_level="ERROR")

def look():
    import os, torch
    where = torch.ones(2).cuda()
    assert where.device == torch.device("cuda:0")
    return torch.cuda.is_available(), os.environ.get("CUDA_VISIBLE_DEVICES"), ray.get_gpu_ids()

@ray.remote(num_gpus=1)
class Trainer:
    def __init__(self):
        import torch
        self.model = torch.nn.Linear(4, 1).cuda()
        self.optimizer = torch.optim.SGD(self.model.parameters(), lr=0.1)

    def step(self, x):
        self.optimizer.zero_grad()
        loss = self.model(x.cuda()).square().mean()
        loss.backward()
        self.optimizer.step()
        return loss.item()

    def look(self):
        return look()

print(ray.get(ray.remote(look).remote()))
import torch
trainer = Trainer.remote()
losses = ray.get([trainer.step.remote(torch.ones(8, 4, device="cuda")) for _ in range(3)])
print(ray.get(trainer.look.remote()), losses[2] < losses[0])
ray.shutdown()
"""
SETTINGS = {"RAY_AUTH_MODE": "disabled", "RAY_USAGE_STATS_ENABLED": "0", "OMP_NUM_THREADS": "1"}


@pytest.mark.long
def test_tasks_and_actors(environment: FreshEnvironment, tmp_path: pathlib.Path) -> None:
    if importlib.util.find_spec("ray") is None:
        (pytest.fail if os.environ.get("CI") else pytest.skip)("ray is not installed (extra test-ray)")
    (tmp_path / "program.py").write_text(PROGRAM)
    environment.run("-m", "morph", "enable", "--backend", "cpu")
    # Ray imports AMD's library where it is installed, and survives only an ImportError
    (environment.packages / "amdsmi.py").write_text("raise ImportError")
    try:
        done = environment.run(tmp_path / "program.py", environment=SETTINGS)
    finally:
        (environment.packages / "amdsmi.py").unlink()
    assert done.stdout.splitlines() == ["(True, None, [])", "(True, '0', [0]) True"]
