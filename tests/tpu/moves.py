"""Prints where random programs of moves on one device end otherwise than by the model of CUDA.

`python -m morph --backend tpu -m tests.tpu.moves 300` takes the first that use one device, and neither pinned
memory, of which XLA's plug-in for the CPU has none, nor DLPack, which has no number for TPUs.
"""

import sys

import torch

from tests.software.random_programs import choices, comparison, programs


def fits(step):
    name, rest = step.name, step.arguments[1:]
    is_elsewhere = "cuda:1" in str(step) or (name == "cuda" and 1 in rest)
    is_pinned = (name == "new" and rest[-1]) or (name == "to" and rest[0] == "cpu" and rest[-1])
    return not (is_elsewhere or is_pinned or name in ("pin_memory", "through_dlpack"))


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
        for line in different(seed, program):
            print(line)
        left -= 1
    seed += 1
print("done")
