"""A device's type and its text as items, keys, members and sorting keys."""

from __future__ import annotations

import bisect
import collections
import enum
import itertools
from collections.abc import Callable
from typing import Any


class Kind(str, enum.Enum):
    CUDA = "cuda"
    CPU = "cpu"


class Place(enum.Enum):
    GPU = "cuda"
    HOST = "cpu"


ALLOWED = ["cuda", "xla"]
KERNELS = {"cuda": "fast", "cpu": "slow"}
WAYS = {("cuda", 0): "first", ("cpu", None): "host"}
Item = collections.namedtuple("Item", "kind index")

USES: dict[str, Callable[[Any, Any], bool]] = {
    "in a tuple": lambda d, x: d.type in ("cuda", "xla"),
    "in a list": lambda d, x: d.type in ["cuda", "xla"],
    "in a set": lambda d, x: d.type in {"cuda", "xla"},
    "in a frozenset": lambda d, x: d.type in frozenset({"cuda"}),
    "in a named list": lambda d, x: d.type in ALLOWED,
    "in a dictionary": lambda d, x: d.type in KERNELS,
    "in its keys": lambda d, x: d.type in KERNELS.keys(),
    "in split text": lambda d, x: d.type in "cuda,cpu".split(","),
    "in what is passed": lambda d, x: (lambda allowed: d.type in allowed)(ALLOWED),
    "in a range of text": lambda d, x: str(d) in [f"cuda:{i}" for i in range(4)],
    "in a generator": lambda d, x: d.type in (each for each in ALLOWED),
    "in a deque": lambda d, x: d.type in collections.deque(ALLOWED),
    "not in": lambda d, x: d.type not in ("cpu", "meta"),
    "not in a set": lambda d, x: d.type not in {"cpu", "mps"},
    "any": lambda d, x: any(d.type == each for each in ALLOWED),
    "all": lambda d, x: all(each.device.type == "cuda" for each in [x, x]),
    "set of types": lambda d, x: {each.device.type for each in [x, x]} == {"cuda"},
    "set of texts": lambda d, x: {str(each.device) for each in [x]} == {"cuda:0"},
    "list of types": lambda d, x: [each.device.type for each in [x]] == ["cuda"],
    "tuple": lambda d, x: (d.type, d.index) == ("cuda", 0),
    "tuple from the left": lambda d, x: ("cuda", 0) == (d.type, d.index),
    "nested tuple": lambda d, x: ((d.type,), 1) == (("cuda",), 1),
    "named tuple": lambda d, x: Item(d.type, d.index) == ("cuda", 0),
    "dictionary": lambda d, x: {"device": d.type} == {"device": "cuda"},
    "dictionary of texts": lambda d, x: {"w": str(x.device)} == {"w": "cuda:0"},
    "key of a dictionary": lambda d, x: {d.type: 1} == {"cuda": 1},
    "key that is looked up": lambda d, x: KERNELS[d.type] == "fast",
    "key with get": lambda d, x: KERNELS.get(d.type, "none") == "fast",
    "key with a default": lambda d, x: {"cpu": 1}.get(d.type, 2) == 2,
    "key with setdefault": lambda d, x: dict(KERNELS).setdefault(d.type, "none") == "fast",
    "key with pop": lambda d, x: dict(KERNELS).pop(d.type) == "fast",
    "key of text": lambda d, x: {"cuda:0": 8, "cpu": 64}[str(d)] == 8,
    "key of a pair": lambda d, x: WAYS[d.type, d.index] == "first",
    "key of an enumeration": lambda d, x: {Kind.CUDA: 1}[d.type] == 1,  # type: ignore[index]
    "key of a defaultdict": lambda d, x: collections.defaultdict(int, {"cuda": 3})[d.type] == 3,
    "key of a chain of maps": lambda d, x: collections.ChainMap({}, KERNELS)[d.type] == "fast",
    "key that is left out": lambda d, x: {k: v for k, v in KERNELS.items() if k != d.type} == {"cpu": "slow"},
    "key with a format": lambda d, x: {"run_cuda": 1}[f"run_{d.type}"] == 1,
    "device as a key": lambda d, x: {d: 1}[x.device] == 1,
    "counter": lambda d, x: collections.Counter([d.type, d.type])["cuda"] == 2,
    "counter of devices": lambda d, x: collections.Counter(map(str, [d, d]))["cuda:0"] == 2,
    "enumeration": lambda d, x: Kind(d.type) is Kind.CUDA,
    "enumeration's member": lambda d, x: d.type == Kind.CUDA,
    "enumeration's value": lambda d, x: Place(d.type).value == "cuda",
    "enumeration's name": lambda d, x: Kind[d.type.upper()] is Kind.CUDA,
    "in an enumeration": lambda d, x: d.type in [each.value for each in Place],
    "list count": lambda d, x: ["cpu", "cuda"].count(d.type) == 1,
    "list index": lambda d, x: ["cpu", "cuda"].index(d.type) == 1,
    "list remove": lambda d, x: (rest := ["cpu", "cuda"]).remove(d.type) is None and rest == ["cpu"],
    "set union": lambda d, x: {"cuda"} | {d.type} == {"cuda"},
    "set difference": lambda d, x: {d.type} - {"cuda"} == set(),
    "set intersection": lambda d, x: {d.type} & {"cuda", "xla"} == {"cuda"},
    "subset": lambda d, x: {d.type} <= {"cuda", "cpu"},
    "disjoint": lambda d, x: not {d.type}.isdisjoint(ALLOWED),
    "sorted": lambda d, x: sorted([d.type, "cpu", "meta"]) == ["cpu", "cuda", "meta"],
    "sorted by a key": lambda d, x: sorted(["cpu", "cuda"], key=lambda each: each != d.type)[0] == "cuda",
    "maximum": lambda d, x: max("cpu", d.type) == "cuda",
    "bisect": lambda d, x: bisect.bisect_left(["cpu", "cuda", "meta"], d.type) == 1,
    "groupby": lambda d, x: [k for k, _ in itertools.groupby([x, x], lambda t: t.device.type)] == ["cuda"],
    "zip": lambda d, x: dict(zip([d.type], [1], strict=True)) == {"cuda": 1},
    "enumerate": lambda d, x: list(enumerate([d.type])) == [(0, "cuda")],
    "star": lambda d, x: [*{d.type}] == ["cuda"],
    "joined": lambda d, x: ",".join([d.type, "cpu"]) == "cuda,cpu",
    "repr of a list": lambda d, x: repr([d]) == "[device(type='cuda', index=0)]",
    "repr of a dictionary": lambda d, x: "'cuda'" in repr({"type": d.type}),
    "filter": lambda d, x: [*filter(lambda t: t.device.type == "cuda", [x, x.cpu()])] == [x],
}
