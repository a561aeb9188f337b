"""The cost of ``--report`` against a proxy that cannot be observed: none when off; and the cost when on."""

from __future__ import annotations

import argparse
import dataclasses
import json
import os
import pathlib
import sys
import tempfile
from collections.abc import Callable, Iterator
from typing import Any

from morph.verification.measurement.timing import Comparison, compare

NAME = "current_device"


def comparisons(backend: str) -> Iterator[Comparison]:
    """Measure the served torch.cuda, without and with a report, against a proxy without report code."""
    import morph

    morph.activate(backend)
    import torch

    needless = [
        name for name in sys.modules if name.startswith(("morph.evidence.reporting", "morph.software"))
    ]
    assert not needless, needless
    served: Any = torch.cuda
    control = _unobservable()
    for title, work in WORKS.items():
        yield compare(f"off: {title}", work(served), work(control))
    with tempfile.TemporaryDirectory() as folder:
        observed = _observed(pathlib.Path(folder))
        for title, work in WORKS.items():
            yield compare(f"on: {title}", work(observed), work(control))


def kept(module: Any) -> Callable[[], object]:
    return lambda: module.current_device


def first(module: Any) -> Callable[[], object]:
    answers = module.__self_dict__

    def look_up() -> object:
        answers.pop(NAME, None)
        return module.current_device

    return look_up


def called(module: Any) -> Callable[[], object]:
    return lambda: module.current_device()


WORKS = {
    "torch.cuda.current_device": kept,
    "torch.cuda.current_device, the first time": first,
    "torch.cuda.current_device()": called,
}


def _unobservable() -> Any:
    """Return a proxy of torch.cuda without the code that lets it be observed."""
    import torch

    from morph.finders.callers import caller
    from morph.finders.torch_cuda.modules import ServedModule, _is_dunder

    class Unobservable(ServedModule):
        def __getattr__(self, name: str) -> Any:
            answers = self._self_answers
            assert answers is not None
            if name == "__all__":
                return [listed for listed in self.__wrapped__.__all__ if hasattr(self, listed)]
            full = f"{self.__wrapped__.__name__}.{name}"
            if _is_dunder(name) or not answers.knows(full):
                own = getattr(self.__wrapped__, name)
            else:
                own = getattr(self.__wrapped__, name, None)
            if _is_dunder(name):
                return own
            answer = answers.of(full, own, caller(sys._getframe().f_back))
            if answers.keeps(full):
                self._keep(name, answer, answers)
            return answer

    served: Any = torch.cuda
    control: Any = Unobservable(served.__wrapped__)
    control.begin(served._self_answers, None)
    return control


def _observed(folder: pathlib.Path) -> Any:
    """Return a proxy of torch.cuda that reports each name to the recorder of ``--report``."""
    import torch

    from morph.evidence.rehearsal.recording import Rehearsal
    from morph.finders.torch_cuda.modules import ServedModule

    served: Any = torch.cuda
    proxy: Any = ServedModule(served.__wrapped__)
    proxy.begin(served._self_answers, Rehearsal(folder, dict))
    return proxy


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--backend", default=os.environ.get("MORPH_BACKEND", "cpu"))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    found = [*comparisons(arguments.backend)]
    if arguments.json:
        print(json.dumps([{**dataclasses.asdict(each), "ratio": each.ratio} for each in found]))
        return
    for each in found:
        print(f"{each.name:48} {each.cuda:8,.0f} ns  {each.own:8,.0f} ns without  {each.ratio:6.2f}x")


if __name__ == "__main__":
    main()
