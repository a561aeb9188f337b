"""A served module that a program still references is torch's own again once morph is deactivated."""

from tests import platforms

PROGRAM = """
import torch
import torch.cuda as kept

assert type(kept) is not type(torch), "the served module, not torch's own"
kept.during = 1
assert kept.during == 1 and "during" in vars(kept) and "during" in dir(kept)
del kept.during
assert not hasattr(kept, "during") and "during" not in vars(kept)
try:
    del kept.never
except AttributeError:
    pass
else:
    raise AssertionError("there is no such name")

import morph
morph.deactivate()
kept.afterwards = 2
import torch.cuda
assert torch.cuda.afterwards == kept.afterwards == 2
del kept.afterwards
assert not hasattr(torch.cuda, "afterwards") and not hasattr(kept, "afterwards")
assert vars(kept) is vars(torch.cuda)
"""


def test_what_is_set_and_deleted_afterwards_is_torchs() -> None:
    platforms.platform("simulated-npu", {}).run(PROGRAM)
