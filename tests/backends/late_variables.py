"""Prints the vendor's variables at each moment at which a program may set CUDA's.

Its argument is the names of the vendor's variables and two values for each of CUDA's, as JSON; the first of
them are set in its environment. Called with names only, it is a child that the program starts.
"""

import json
import os
import subprocess
import sys

import torch


def child(names: list[str], environment: dict[str, str]) -> dict[str, str]:
    command = [sys.executable, __file__, json.dumps([names])]
    done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, check=True)
    return json.loads(done.stdout)["start"]


def main(names: list[str], *values: dict[str, list[str]]) -> dict[str, dict[str, str]]:
    def shown() -> dict[str, str]:
        return {name: os.environ[name] for name in names if name in os.environ}

    assert torch.cuda.is_available()
    seen = {"start": shown()}
    for given in values:
        first = {name: each[0] for name, each in given.items()}
        os.environ.update({name: each[1] for name, each in given.items()})
        seen["later"] = shown()
        if names:
            seen["child"] = child(names, dict(os.environ))
            seen["child's own"] = child(names, os.environ | first)
        for name in given:
            del os.environ[name]
        seen["removed"] = shown()
        if names:
            seen["child of none"] = child(names, dict(os.environ))
    return seen


if __name__ == "__main__":
    print(json.dumps(main(*json.loads(sys.argv[1]))))
