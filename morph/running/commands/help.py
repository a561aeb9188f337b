"""``morph help``: the help of morph, or of a command."""

from __future__ import annotations

import argparse

from morph.base.announcement import launcher
from morph.base.errors import MorphError, did_you_mean
from morph.running import commands

EXAMPLE = "help check"
USAGE = """\
usage: {morph} [options] program.py [argument ...]
       {morph} [options] -m module [argument ...]
       {morph} [options] -c code [argument ...]
       {morph} [options] - [argument ...]
       {morph} command [argument ...]
"""
PURPOSE = """\
Run a program written for CUDA, unchanged, on the accelerator that is there, or
on the CPU.
"""
FIRST = {
    "train.py": "run a script",
    "--rehearse npu train.py": "try a device you do not have",
    "check": "find uses of CUDA in this folder",
    "doctor": "what is here, and what is wrong",
    "help [command]": "all options and commands",
}
LONG = """\

program:
  program.py       a script, or a directory or zip file with a __main__.py
  -m module        a module, as python -m
  -c code          code, as python -c
  -                the program is read from standard input

options:
  --backend NAME   run on this backend, not on the first whose device is there
  --rehearse NAME  run on a simulated device of this backend, and end with a
                   table of every CUDA name that the program used, and whether
                   it would run; the exit status is the program's own
  --rehearse all   the same on each backend in turn, with a column for each; the
                   exit status is 0 if the program would run on all, else 1
  --json FILE      write the result of a rehearsal, of --fit or of --sanitize as
                   JSON, too
  --devices N      the number of software devices, on the CPU or in a rehearsal
  --device-memory AMOUNT
                   the memory of each of these, such as 8GiB
  --device-profile CARD
                   the card that they stand for, such as h100
  --sanitize[=memory,init,race,sync,host,leak]
                   find kernels' accesses outside of their memory, races,
                   missing waits, device memory that the host uses, and what
                   is left at the end
  --inject FAULT[@KEY=VALUE,...]
                   have the software device fail on purpose, such as
                   oom@step=3: oom, nan, ecc, nccl-timeout, rank-exit and
                   slow-rank; several may be given
  --fit[=CARD]     tell at the end whether the program fits in the memory of the
                   card, how much each phase of training takes, and what for
  --report FILE    write every CUDA name that the program uses, where, how often
                   and how it was served, to FILE.html or FILE.json
  -q, --quiet      do not say at start what cuda is; problems are still said
  -V, --version    print the version of morph
  -h, --help       print this text

Whatever follows the program belongs to the program. Child processes run under
morph too.

commands (each has a --help; ./NAME runs a program of that name):
{commands}

environment:
  MORPH_BACKEND, MORPH_REHEARSE, MORPH_DEVICES, MORPH_DEVICE_MEMORY,
  MORPH_DEVICE_PROFILE, MORPH_SANITIZE, MORPH_INJECT, MORPH_FIT
                   the same as the options, which come first
  MORPH_QUIET      "1" is the same as --quiet
  MORPH_PACKAGES   the packages that see CUDA, beside the program; else all do
  MORPH_INDUCTOR   "triton" has torch.compile make kernels in Triton on the CPU
  MORPH_CACHE      the folder for compiled parts, instead of ~/.cache/morph
  MORPH_SEAM       "python" does without the compiled part, and is slower
  MORPH_STARTUP    "0" keeps morph out of one Python of an enabled environment

example:
  {morph} --backend cpu train.py --epochs 2
  {morph} --devices 4 -m torch.distributed.run \\
      --nproc-per-node 4 train.py
"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument("command", nargs="?", metavar="COMMAND", help="a command (default: morph itself)")


def run(arguments: argparse.Namespace) -> int:
    """Print the help, and return 0.

    Raises:
        MorphError: If there is no such command.
    """
    name = arguments.command
    if name is None:
        print(text())
        return 0
    if name not in commands.COMMANDS:
        raise MorphError(f"there is no command {name!r}{did_you_mean(name, commands.COMMANDS)}")
    return commands.run([name, "--help"])


def usage() -> str:
    """Return the forms of the command line."""
    return USAGE.format(morph=launcher())


def short() -> str:
    """Return what ``morph`` alone prints."""
    width = max(map(len, FIRST))
    lines = [f"  {launcher()} {words:{width}}  {purpose}\n" for words, purpose in FIRST.items()]
    return f"{usage()}\n{PURPOSE}\n{''.join(lines)}"


def text() -> str:
    """Return the whole help of ``morph``."""
    return f"{usage()}\n{PURPOSE}{LONG.format(morph=launcher(), commands=commands.summary())}"
