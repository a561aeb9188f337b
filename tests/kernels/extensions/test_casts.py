"""Casts to integers are found, and nothing that only looks like one."""

import pytest

from morph.kernels.extensions import casts
from morph.kernels.extensions.source import Edits, Source

CONVERTED = {
    "n = (int)x;": "n = <int>(x);",
    "n = (unsigned int)floor(x - y) + 1;": "n = <unsigned int>(floor(x - y)) + 1;",
    "n = -(int)-x[i].y->z(2) * 2;": "n = -<int>(-x[i].y->z(2)) * 2;",
    "n = (float)(int)x;": "n = (float)<int>(x);",
    "n = (int)(unsigned)x;": "n = <int>(<unsigned>(x));",
    "n = (int)(float)-x;": "n = <int>((float)-x);",
    "n = (int)(scalar_t)x;": "n = <int>((scalar_t)x);",
    "n = (int)(x + (int)y);": "n = <int>((x + <int>(y)));",
    "n = (int)1.5e-3f + 2;": "n = <int>(1.5e-3f) + 2;",
    "n = (int)std::max<float>(x, y);": "n = <int>(std::max<float>(x, y));",
    "n = (int)T::template of<3>::value;": "n = <int>(T::template of<3>::value);",
    "n = (int)a < b;": "n = <int>(a) < b;",
    "n = (int)*p++;": "n = <int>(*p++);",
    "f(a, (std::size_t)x);": "f(a, <std::size_t>(x));",
    "if (n > (int)x) return (long)x;": "if (n > <int>(x)) return <long>(x);",
    "n = static_cast<uint32_t>(x);": "n = <uint32_t>(x);",
    "n = int(floorf(x)) + a[int(y)];": "n = <int>(floorf(x)) + a[<int>(y)];",
    "return int(-x);": "return <int>(-x);",
}
LEFT = [
    "void f(int) const;",
    "void f(int (*g)(int) = 0);",
    "void (*f)(int) = g;",
    "void C::operator()(int) const;",
    "C operator*(int) noexcept;",
    "auto f = [](int) -> int { return 1; };",
    "auto f() -> int (*)(int);",
    "using F = int(float);",
    "typedef int(F)(float);",
    "std::function<int(float)> f;",
    "n = sizeof(int) * 2;",
    "n = sizeof (int) - 1;",
    "int (x);",
    "n = (int*)p;",
    "n = *(int*)p;",
    "n = static_cast<int*>(p);",
    "n = new int(5);",
    "n = print(x);",
    "n = int();",
    "n = (float)x;",
    "template <> void f<float>(int) const;",
    'n = "(int)x";',
]


def translated(code: str) -> str:
    source = Source(code)
    edits = Edits(source)
    casts.translate(source, edits)
    return edits.result()


@pytest.mark.parametrize("code", CONVERTED)
def test_a_cast(code: str) -> None:
    assert translated(code).replace(casts.CONVERTED, "") == CONVERTED[code]


@pytest.mark.parametrize("code", LEFT)
def test_no_cast(code: str) -> None:
    assert translated(code) == code
