"""Assertions in kernels: what is out of range ends the context, as on CUDA."""

import pytest

from tests import origin
from tests.platforms import Platform

PROGRAM = """
import os
import torch
import torch.distributed as dist
import torch.nn.functional as F
x, beyond = torch.rand(3, device="cuda"), torch.tensor([7], device="cuda")
def gather_nan():
    os.environ["TORCH_NCCL_NAN_CHECK"] = "1"
    dist.init_process_group("nccl", store=dist.HashStore(), rank=0, world_size=1)
    part = torch.tensor([1, float("nan")], device="cuda").to(torch.float8_e5m2)
    dist.all_gather_into_tensor(torch.empty_like(part), part)
met = {
    "index": lambda: x[beyond],
    "embedding": lambda: F.embedding(beyond, x[:, None]),
    "class": lambda: F.cross_entropy(x[None], beyond),
    "scatter": lambda: x.scatter_(0, beyond, 1.0),
    "probability": lambda: F.binary_cross_entropy(x + 2, x),
    "bag": lambda: F.embedding_bag(beyond[None], x[:, None]),
    "margin": lambda: F.multi_margin_loss(x[None], beyond),
    "unpooled": lambda: F.max_unpool2d(x[:1, None, None, None], beyond[:, None, None, None], 2),
    "bernoulli": lambda: torch.bernoulli(x + 2),
    "poisson": lambda: torch.poisson(x - 2),
    "assert": lambda: torch._assert_async(x[0] > 2),
    "told": lambda: torch._assert_async(x[0] > 2, "told you"),
    "target": lambda: F.binary_cross_entropy(x, x + 2),
    "source": lambda: x.masked_scatter(x > -1, x[:1]),
    "weights": lambda: torch.multinomial(x * 0, 1),
    "nan": gather_nan,
}["WHICH"]
stream, event = torch.cuda.current_stream(), torch.cuda.Event()
event.record()
waits = torch.cuda.synchronize, event.synchronize, event.query, stream.query
for call in (met, lambda: x + 1, *waits, x.tolist, lambda: torch.ones(3).cuda(), torch.ones(3).pin_memory):
    try:
        call()
        print("went on")
    except Exception as error:
        print(type(error).__name__, *str(error).splitlines()[:2])
"""
TRIGGERED = "AcceleratorError CUDA error: device-side assert triggered"
WORDS = {
    "index": "index 7 is out of bounds for dimension 0 with size 3",
    "embedding": "index out of range in self",
    "class": "Target 7 is out of bounds.",
    "scatter": "index 7 is out of bounds for dimension 0 with size 3",
    "probability": "all elements of input should be between 0 and 1",
    "bag": "Index 0 of input takes value 7 which is not in the valid range [0, 3)",
    "margin": "target out of range",
    "unpooled": "Found an invalid max index: 7 (output volumes are of size 2x2)",
    "bernoulli": (
        "Expected p_in >= 0 && p_in <= 1 to be true, but got false.  (Could this error message be improved?  "
        "If so, please report an enhancement request to PyTorch.)"
    ),
    "poisson": "invalid Poisson rate, expected rate to be non-negative",
    "assert": "Expected Tensor with single nonzero value, but got zero",
    "told": "told you",
    "target": "all elements of target should be between 0 and 1",
    "source": "Number of elements of source < number of ones in mask",
    "weights": "invalid multinomial distribution (sum of probabilities <= 0)",
    "nan": "Expected Tensor with single nonzero value, but got zero",
}


@pytest.mark.parametrize("machine", ["cpu"], indirect=True)
def test_what_the_sizes_tell_is_an_error_of_the_call(machine: Platform) -> None:
    program = """
import torch
x, index = torch.empty(2, 0, device="cuda"), torch.tensor([0], device="cuda")
for call in (lambda: x[:, index], lambda: x.gather(2, index[None])):
    try:
        call()
    except IndexError as error:
        print(error)
print((torch.ones(2, device="cuda") + 1).tolist())
"""
    *errors, after = origin.run(machine, program, morph=True).stdout.splitlines()
    assert errors[0] == "index is out of bounds for dimension with size 0"
    assert errors[1].startswith("Dimension out of range")
    assert after == "[2.0, 2.0]"


@pytest.mark.parametrize("machine", ["cpu"], indirect=True)
@pytest.mark.parametrize("which", WORDS)
def test_what_is_out_of_range_ends_the_context(machine: Platform, which: str) -> None:
    done = origin.run(machine, PROGRAM.replace("WHICH", which), morph=True)
    assert done.stdout.splitlines() == [f"{TRIGGERED} {WORDS[which]}"] * 9


@pytest.mark.parametrize("machine", ["cpu"], indirect=True)
def test_memory_that_was_given_up_cannot_be_read(machine: Platform) -> None:
    program = """
import torch
x = torch.ones(3, device="cuda")
x.untyped_storage().resize_(0)
print(x.view(3, 1).shape)
for call in (x.sum, torch.cuda.synchronize):
    try:
        call()
    except torch.AcceleratorError as error:
        print(str(error).splitlines()[0])
"""
    lines = origin.run(machine, program, morph=True).stdout.splitlines()
    assert lines == ["torch.Size([3, 1])", *["CUDA error: an illegal memory access was encountered"] * 2]
