"""How often nests of loops run their bodies."""

from __future__ import annotations

from itertools import product
from math import prod

from compiler.arith import Analyzer
from compiler.arith.extents import product_of_extents
from compiler.ir.expr.primexpr import IntImm, Max, Min, PrimExpr, Range, Var, const
from compiler.ir.expr.substitute import substitute
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.decl_buffer import decl_buffer


def test_loops_with_fewer_than_no_iterations_count_as_empty() -> None:
    i, j = Var("i"), Var("j")
    extents: list[PrimExpr] = [3 - i, Min(i, const(2)) - Max(j - 1, const(0)), const(4)]
    analyzer = Analyzer()
    analyzer.bind(i, Range(0, 8))
    analyzer.bind(j, Range(-3, 8))
    found = product_of_extents(extents, analyzer)
    for at in product(range(8), range(-3, 5)):
        counts = [_value(extent, i, j, at) for extent in extents]
        assert max(_value(found, i, j, at), 0) == prod(max(count, 0) for count in counts)


def _value(e: PrimExpr, i: Var, j: Var, at: tuple[int, int]) -> int:
    number = Analyzer().simplify(substitute(e, {i: const(at[0]), j: const(at[1])}))
    assert isinstance(number, IntImm)
    return number.value


def test_what_is_not_negative_is_multiplied_as_it_is() -> None:
    n, m = Var("n"), Var("m")
    assert str(product_of_extents([n, m + 1], Analyzer())) == "n * (m + 1)"
    assert str(product_of_extents([n, m - 1], Analyzer())) == "n * (m - 1)"


def test_an_extent_may_be_what_memory_holds() -> None:
    counts = decl_buffer((4,), "int32", "counts")
    extent = BufferLoad(counts, [const(1)])
    assert str(product_of_extents([extent, const(1)], Analyzer())) == "counts[1]"
