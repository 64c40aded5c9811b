"""Equality and hashes of structure, whatever the variables are called."""

from __future__ import annotations

from typing import Any

import pytest

from compiler import tir
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import FloatImm, PrimExpr, Var
from compiler.ir.module import IRModule
from compiler.ir.structural import assert_structural_equal, structural_digest, structural_equal, structural_hash

x, y = Var("x"), Var("y")
A = tir.decl_buffer((16,), name="A")


def loop(name: str, body: Any = lambda v: v + 1, extent: int = 4) -> tir.Stmt:
    v = Var(name)
    return tir.For(v, 0, extent, 0, tir.Evaluate(body(v)))


def function(name: str, scale: float = 2.0) -> tir.PrimFunc:
    handle, buffer, i = Var(name, "handle"), tir.decl_buffer((16,), name=name), Var("i")
    body = tir.For(i, 0, 16, 0, tir.BufferStore(buffer, buffer[i] * scale, [i]))
    return tir.PrimFunc((handle,), body, None, {handle: buffer}, {"global_symbol": "main"})


EQUAL: list[tuple[Any, Any]] = [
    (x + 1, x + 1),
    (loop("i"), loop("j")),
    (function("A"), function("B")),
    (IRModule({"main": function("A")}), IRModule({"main": function("B")})),
    (FloatImm("float32", float("nan")), FloatImm("float32", float("nan"))),
    ((x, 1), (x, 1)),
]
UNEQUAL: list[tuple[Any, Any]] = [
    (x + 1, y + 1),
    (x + 1, x + 2),
    (x + 1, x - 1),
    (loop("i"), loop("i", extent=5)),
    (loop("i"), loop("i", body=lambda v: v + x)),
    (function("A"), function("A", scale=3.0)),
    (FloatImm("float32", 0.0), FloatImm("float32", -0.0)),
    (IRModule({"main": function("A")}), IRModule({"other": function("A")})),
    (IRModule({}, attrs={"a": 1}), IRModule({}, attrs={"a": 2})),
]


@pytest.mark.parametrize(("a", "b"), EQUAL)
def test_equal_structures_hash_alike(a: Any, b: Any) -> None:
    assert structural_equal(a, b)
    assert structural_equal(b, a)
    assert structural_hash(a) == structural_hash(b)


@pytest.mark.parametrize(("a", "b"), UNEQUAL)
def test_other_structures_are_not_equal(a: Any, b: Any) -> None:
    assert not structural_equal(a, b)
    assert not structural_equal(b, a)


@pytest.mark.parametrize(("a", "b"), EQUAL + UNEQUAL)
def test_digests_agree_where_structures_do(a: Any, b: Any) -> None:
    digests = structural_digest(a, 10_000), structural_digest(b, 10_000)
    assert (digests[0] == digests[1]) == structural_equal(a, b, map_free_vars=True)
    assert all(digest is not None and len(digest) == 64 for digest in digests)


def test_a_digest_of_too_much_is_none() -> None:
    doubled: PrimExpr = x
    for _ in range(200):
        doubled = doubled + doubled
    assert structural_digest(doubled, 10_000) is None


def test_free_variables_match_one_to_one_if_asked() -> None:
    def both(a: PrimExpr, b: PrimExpr) -> tuple[bool, bool]:
        return structural_equal(a, b, map_free_vars=True), structural_hash(a, True) == structural_hash(b, True)

    assert both(x + x, y + y) == (True, True)
    assert both(x + y, y + x) == (True, True)
    assert not structural_equal(x + x, x + y, map_free_vars=True)
    assert not structural_equal(x + y, x + x, map_free_vars=True)


def test_a_difference_is_shown_by_lines() -> None:
    assert_structural_equal(loop("i"), loop("j"))
    with pytest.raises(ArgumentError) as caught:
        assert_structural_equal(loop("i"), loop("i", extent=5))
    assert "-for i in range(4):\n+for i in range(5):" in str(caught.value)
