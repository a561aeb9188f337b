"""``morph completion SHELL``: a shell completion script."""

from __future__ import annotations

import argparse

from morph.backends.tables import table
from morph.running.commands import COMMANDS

EXAMPLE = "completion bash >> ~/.bashrc"
OPTIONS = (
    "--backend --rehearse --json --devices --device-memory --device-profile --sanitize --inject --fit"
    " --report --quiet --version --help -m -c"
)

# bash offers the words that begin like the last one; zsh has a mode that reads bash's scripts
BASH = """\
_morph() {{
  local word="${{COMP_WORDS[COMP_CWORD]}}" before="${{COMP_WORDS[COMP_CWORD-1]}}"
  case "$before" in
    --backend) COMPREPLY=($(compgen -W "{backends}" -- "$word")) ;;
    --rehearse) COMPREPLY=($(compgen -W "{backends} all" -- "$word")) ;;
    *) if [ "$COMP_CWORD" = 1 ]; then COMPREPLY=($(compgen -W "{commands} {options}" -- "$word")); fi
       COMPREPLY+=($(compgen -f -- "$word")) ;;
  esac
}}
complete -o filenames -F _morph morph
"""
ZSH = "autoload -U +X bashcompinit && bashcompinit\n" + BASH
FISH = """\
complete -c morph -n __fish_use_subcommand -a "{commands}"
complete -c morph -l backend -x -a "{backends}"
complete -c morph -l rehearse -x -a "{backends} all"
complete -c morph -l json -r
complete -c morph -l devices -x
complete -c morph -l device-memory -x
complete -c morph -l device-profile -x
complete -c morph -l sanitize
complete -c morph -l inject -x
complete -c morph -l fit
complete -c morph -l report -r
complete -c morph -s q -l quiet
complete -c morph -s V -l version
complete -c morph -l help
"""
SHELLS = {"bash": BASH, "zsh": ZSH, "fish": FISH}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Describe the command line."""
    parser.add_argument("shell", choices=SHELLS, help="the shell")


def run(arguments: argparse.Namespace) -> int:
    """Print the shell's code, and return 0."""
    words = {"backends": table.backend_names(), "commands": COMMANDS}
    text = {name: " ".join(each) for name, each in words.items()}
    print(SHELLS[arguments.shell].format(options=OPTIONS, **text), end="")
    return 0
