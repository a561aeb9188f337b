"""The parser of TTIR."""

import pytest

from morph.kernels.triton.errors import UnsupportedOperationError
from morph.kernels.triton.ir.operations import every
from morph.kernels.triton.ir.parsing import parse
from morph.kernels.triton.lowering.module import lower_module

BRANCHES = """
module {
  tt.func public @kernel(%x: !tt.ptr<f32> {tt.divisibility = 16 : i32}, %n: i32) {
    %c0 = arith.constant 0 : i32
    %0 = arith.cmpi slt, %n, %c0 : i32
    %1:2 = scf.if %0 -> (i32, i32) {
      %4 = arith.addi %n, %n : i32
      scf.yield %4, %n : i32, i32
    } else {
      %4 = tt.get_program_id x : i32
      %5 = arith.muli %4, %4 : i32
      scf.yield %4, %5 : i32, i32
    }
    %2 = scf.for %i = %c0 to %n step %1#0 iter_args(%acc = %1#1) -> (i32)  : i32 {
      %4 = arith.addi %acc, %i : i32
      scf.yield %4 : i32
    }
    tt.print " %4: " {hex = false, isSigned = array<i32: 1>} : %2 : i32
    tt.return
  }
}
"""


def test_names_of_regions_side_by_side() -> None:
    (function,) = parse(BRANCHES)
    operations = list(every(function.body[0].operations))
    defined = [name for operation in operations for name in operation.results]
    assert len(defined) == len(set(defined))
    yields = [operation.operands for operation in operations if operation.name == "scf.yield"]
    assert yields == [["%4", "%n"], ["%4.1", "%5"], ["%4.2"]]
    square = next(operation for operation in operations if operation.name == "arith.muli")
    assert square.operands == ["%4.1", "%4.1"]
    assert next(each for each in operations if each.name == "tt.print").words.startswith('" %4: "')


def test_what_is_not_lowered_is_named() -> None:
    text = BRANCHES.replace("tt.get_program_id x", "tt.unheard_of x")
    with pytest.raises(UnsupportedOperationError, match=r"^tt\.unheard_of is not available"):
        lower_module(text)
    with pytest.raises(UnsupportedOperationError, match="this line of TTIR is not understood"):
        lower_module(BRANCHES.replace("tt.return", "?"))
