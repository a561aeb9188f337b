"""Whether torch has the collective library UCC."""

import torch.distributed as dist

HAS_UCC: bool = dist.is_ucc_available()
