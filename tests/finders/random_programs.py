"""Random programs over strings, some of which are device names and most are not.

python -m tests.finders.random_programs COUNT
"""

from __future__ import annotations

import random
import sys
import warnings
from typing import Any

from morph.finders.rewriting.compilation import compile_source
from tests.finders.rewriting import NPU

WORDS = ["cuda", "npu", "cuda:0", "npu:1", "cpu", "nccl", "hccl", "torch.cuda", "torch.npu", "cudagraph", ""]
PLAIN_NAMES = ["w", "word", "items", "found", "kindly", "target", "a", "b"]
CUDA_LITERALS = ["'cuda'", "'cuda:1'", "'cpu'", "'torch.cuda'"]
CUDA_LISTS = [
    "('cuda', 'cpu')",
    "LISTED + ('mps',)",
    "['mps', 'cuda']",
    "{'cuda', 'cpu'}",
    "LISTED",
    "Config.listed",
    "FROZEN",
]
TABLES = ["{'cuda': 1, 'cpu': 2}", "TABLE", "dict(cuda=3, cpu=4)", "Config.table"]

PROLOGUE = """
CUDA = 'cuda'
LISTED = ('cuda', 'cpu')
FROZEN = frozenset(LISTED)
TABLE = {'cuda': 10, 'cpu': 20}
class Config:
    listed = ['cuda', 'mps']
    table = {'cuda': 5, 'cpu': 6}
    name = CUDA
    def __init__(self, x): self.kind = x.device.type
    def is_gpu(self): return self.kind == 'cuda'
def type_of(y): return y.device.type
def text_of(y):
    made = str(y.device)
    return made
def is_cuda(t, given='cuda'): return t == given or t == 'cuda'
"""


class Device:
    """A tensor's device, as far as strings are concerned."""

    def __init__(self, kind: str, index: int) -> None:
        self.type, self.index = kind, index

    def __str__(self) -> str:
        return f"{self.type}:{self.index}"


class Tensor:
    """An object with a device."""

    def __init__(self, kind: str, index: int = 1) -> None:
        self.device = Device(kind, index)


class Programs:
    """Generates random programs.

    Args:
        seed: Each seed gives one program.
        with_devices: Whether there are devices; their names are only compared, sliced or used as keys.
    """

    def __init__(self, seed: int, *, with_devices: bool) -> None:
        self._random = random.Random(seed)
        self._with_devices = with_devices
        named = self._random.random() < 0.5  # otherwise only the devices' own names are the vendor's
        self._words = WORDS if named else [word for word in WORDS if "npu" not in word and "hccl" not in word]

    def program(self) -> str:
        """Return a program that appends its results to ``out``."""
        lines = [PROLOGUE if self._with_devices else ""]
        for _ in range(self._random.randint(3, 8)):
            lines += self._statement(0)
        return "\n".join(lines)

    def _one(self, *choices: Any) -> Any:
        return self._random.choice(choices)

    def _text(self) -> str:
        """Return an expression for a string that is not a device's."""
        literal = repr(self._one(*self._words)) if not self._with_devices else self._one(*CUDA_LITERALS)
        name = self._one(*PLAIN_NAMES[:2], *PLAIN_NAMES[3:])
        return self._one(
            literal,
            name,
            name,
            f"given[{self._random.randint(0, 5)}]",
            f"{name}[{self._random.randint(0, 5)}:]",
            f"{name}.replace('cuda', {literal})",
            f"({name} + {literal})",
            f"f'{{{name}}}'",
            f"{name}.lower()",
            f"(lambda each: each)({name})",
        )

    def _condition(self) -> str:
        if self._with_devices and self._random.random() < 0.6:
            return self._about_device()
        text, other = self._text(), self._text()
        literal = repr(self._one(*self._words)) if not self._with_devices else self._one(*CUDA_LITERALS)
        return self._one(
            f"{text} == {literal}",
            f"{literal} != {text}",
            f"{text} == {other}",
            f"{text} in ({literal}, {other})",
            f"{literal} in items",
            f"{text} not in items",
            f"{text}.startswith({literal})",
            f"{text}.startswith(({literal}, 'q'))",
            f"{literal} in {text}",
            f"any(each == {literal} for each in items)",
            f"(walrus := {text}) == {literal}",
            f"{text} == {other} == {literal}",
        )

    def _type(self) -> str:
        return self._one("x.device.type", "type_of(x)", "Config(x).kind", "next(iter([x.device.type]))", "t")

    def _spelled(self) -> str:
        return self._one("str(x.device)", "text_of(x)", "f'{x.device}'", "'{}'.format(x.device)", "s")

    def _about_device(self) -> str:
        kind, text = self._type(), self._spelled()
        index = self._random.randint(0, 2)
        return self._one(
            f"{kind} == 'cuda'",
            f"'cuda' != {kind}",
            f"{kind} == CUDA",
            f"{kind} == Config.name",
            f"{kind} in {self._one(*CUDA_LISTS)}",
            f"{kind} not in {self._one(*CUDA_LISTS)}",
            f"{kind} in {self._one(*TABLES)}",
            f"{self._one(*TABLES)}.get({kind}, 0) > 3",
            f"x.device.type == {self._one('CUDA', repr('cuda'), 'Config.name', 'x.device.type')}",
            f"{text} == 'cuda:{index}'",
            f"{text}.startswith('cuda')",
            f"{text}.startswith(('cuda:', 'mps'))",
            f"{text}[:4] == 'cuda'",
            f"{text}[5:] == '{index}'",
            f"{text}.split(':')[0] == 'cuda'",
            f"{text}.removeprefix('cuda:') == '{index}'",
            f"'cuda' in {text}",
            f"'cuda' in {{{kind}}}",
            f"'cuda:{index}' in [{text}, 'cpu']",
            "'cuda' in [y.device.type for y in (x, x)]",
            f"is_cuda({kind})",
            "Config(x).is_gpu()",
            f"(kept := {kind}) == 'cuda' and kept in LISTED",
        )

    def _statement(self, depth: int) -> list[str]:
        value = self._random.randint(0, 99)
        kind = self._random.randint(0, 9 if depth < 3 else 3)
        if kind <= 1:
            return [f"out.append({self._condition()})"]
        if kind == 2:
            return [f"{self._one(*PLAIN_NAMES[:2], *PLAIN_NAMES[3:])} = {self._text()}"]
        if kind == 3:
            literal = "'cuda'"
            return [f"if {literal} in items: items.remove({literal}); out.append(list(items))"]
        return self._compound(kind, depth, value)

    def _compound(self, kind: int, depth: int, value: int) -> list[str]:
        body = ["  " + line for line in [*self._statement(depth + 1), f"out.append({value})"]]
        if kind == 4:
            other = ["  " + line for line in self._statement(depth + 1)]
            return [f"if {self._condition()}:", *body, f"elif {self._condition()}:", *body, "else:", *other]
        if kind == 5:
            return ["for each in list(items):", f"  word = each + {self._text()}", *body]
        if kind == 6:
            subject = self._type() if self._with_devices and value % 2 else self._text()
            inner = ["  " + line for line in body]
            return [f"match {subject}:", "  case 'cuda' | 'cuda:0':", *inner, "  case _: pass"]
        if kind == 7:
            name = f"function_{depth}_{value}"
            return [
                f"def {name}(given, word, w, found, kindly, target, a, b):",
                *body,
                f"  return {self._condition()}",
                f"out.append({name}(given, word, w, found, kindly, target, a, b))",
            ]
        if kind == 8:
            look_up = f"{{'cuda': 1, 'cpu': 2}}[{self._text()}]"
            if self._with_devices:
                look_up = f"{self._one(*TABLES)}[{self._type()}]"
            return ["try:", f"  out.append({look_up})", "except KeyError:", *body]
        return [
            f"out.append([each for each in items if each == {self._text()}])",
            f"out.append('y' if {self._condition()} else 'n')",
        ]


def run(source: str, seed: int, kind: str, *, rewritten: bool) -> list[Any]:
    """Run a program with devices called ``kind``; return its results and any exception that ended it."""
    chosen = random.Random(seed)
    given = [chosen.choice(WORDS) for _ in range(6)]
    x = Tensor(kind)
    names: dict[str, Any] = {name: chosen.choice(WORDS) for name in PLAIN_NAMES}
    names |= {"given": given, "items": [chosen.choice(WORDS) for _ in range(4)], "out": [], "x": x}
    start = "t = x.device.type\ns = str(x.device)\n"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        whole = start + source
        code = compile_source(whole, "<random>", NPU) if rewritten else compile(whole, "<random>", "exec")
    try:
        exec(code, names)
    except Exception as error:
        names["out"].append(repr(error))
    found: list[Any] = names["out"]
    return found


def differs(seed: int, *, with_devices: bool) -> str | None:
    """Return the program of a seed if its results are not the expected ones.

    Without devices, rewriting must not change the results. With devices, those on Ascend must equal CUDA's.
    """
    source = Programs(seed, with_devices=with_devices).program()
    theirs = "npu" if not with_devices else "cuda"
    same = run(source, seed, "npu", rewritten=True) == run(source, seed, theirs, rewritten=False)
    return None if same else source


def main() -> None:
    """Run as many programs of each kind as the command line says."""
    count = int(sys.argv[1])
    for with_devices in (False, True):
        different = [seed for seed in range(count) if differs(seed, with_devices=with_devices)]
        print(f"devices: {with_devices}; {len(different)} of {count} differ: {different[:10]}")


if __name__ == "__main__":
    main()
