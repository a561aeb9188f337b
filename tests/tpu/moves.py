"""Prints where random programs of moves on one device end otherwise than by the model of CUDA.

`python -m morph --backend tpu -m tests.tpu.moves 300` takes the first that use one device, and not DLPack,
which has no number for TPUs.
"""

import sys

import torch

from tests.software.random_programs import choices, comparison, programs

DIFFERENT = {
    1491: "fill_() of an expanded view is refused",
    3384: "index_put_() into a tensor of the host takes no number of the device",
    4810: "a dimension of size 1 has another stride",
}


def fits(step):
    is_elsewhere = "cuda:1" in str(step) or (step.name == "cuda" and 1 in step.arguments[1:])
    return not (is_elsewhere or step.name == "through_dlpack")


def different(seed, program):
    with torch.no_grad():
        variables, refusals = programs.run(program)
    if refusals.keys() == program.refusals.keys():  # in torch_tpu's own words
        refusals = program.refusals
    found = comparison.compare(seed, program, variables, refusals)
    return [
        line for line in found if " memory of " not in line
    ]  # torch_tpu keeps the address of memory that it left


seed, left = 0, int(sys.argv[1])
while left:
    program = choices.program(seed)
    if all(map(fits, program.steps)):
        assert seed not in DIFFERENT or different(seed, program), f"program {seed} is as on CUDA now"
        for line in [] if seed in DIFFERENT else different(seed, program):
            print(line)
        left -= 1
    seed += 1
print("done")
