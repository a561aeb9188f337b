"""Runs idioms of several files in one process: `python -m morph together.py RESULTS SUBJECT.NAME...`."""

import importlib
import sys

from idiom import attempt

if __name__ == "__main__":
    results, *names = sys.argv[1:]
    with open(results, "a", encoding="utf-8") as file:
        for name in names:
            subject, _, idiom = name.partition(".")
            attempt(name, vars(importlib.import_module(subject)), idiom, file)
