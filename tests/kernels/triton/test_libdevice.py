"""Which of libdevice's functions a kernel can call: all but the groups that the README names."""

import inspect
import re

import pytest

from morph.kernels.triton.lowering import libdevice

triton = pytest.importorskip("triton.language.extra.cuda.libdevice")
NAMED = "byte_perm", "rcp64h"
ROUNDED = r"\w+_r[duz]"
CONVERSIONS = r"\w+2(float|double|int|uint|ll|ull|hiint|loint)(_rn)?|hiloint2double"
REFUSED = re.compile(rf"__nv_(({'|'.join(NAMED)})f?|{ROUNDED}|{CONVERSIONS})")


def test_what_is_refused_is_what_the_readme_says() -> None:
    symbols = set(re.findall(r'"(__nv_\w+)"', inspect.getsource(triton)))
    missing = {symbol for symbol in symbols if libdevice.function(symbol) is None}
    assert missing == {symbol for symbol in symbols if REFUSED.fullmatch(symbol)}
    assert (len(symbols), len(missing)) == (313, 109), "the README's Limits give these numbers"
