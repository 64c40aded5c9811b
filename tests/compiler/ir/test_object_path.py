"""Paths to the parts of nodes, and to where two structures begin to differ."""

from __future__ import annotations

from typing import Any

import pytest

from compiler import te, tir
from compiler.ir import get_first_structural_mismatch
from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.ir.object_path import ObjectPath
from compiler.ir.structural import assert_structural_equal

ROOT = ObjectPath.root()


def test_paths_are_written_and_compared() -> None:
    path = ROOT.attr("body").array_index(3).map_value("k").attr(None)
    assert str(path) == '<root>.body[3]["k"].<unknown attribute>'
    assert str(ROOT.attr("seq").missing_array_element(5)) == "<root>.seq[<missing element #5>]"
    assert str(ObjectPath.root("f").missing_map_entry()) == "f[<missing entry>]"
    assert (len(ROOT), len(path), path.parent) == (1, 5, path.get_prefix(4))
    assert path == ROOT.attr("body").array_index(3).map_value("k").attr(None)
    assert hash(path) == hash(path.get_prefix(5))
    assert path != path.get_prefix(4).attr("x")
    assert ROOT.array_index(1) != ROOT.missing_array_element(1)
    assert ROOT.attr("body").is_prefix_of(path)
    assert path.is_prefix_of(path)
    assert not ROOT.attr("bo").is_prefix_of(path)
    assert not path.is_prefix_of(ROOT)
    for length in (0, 6):
        with pytest.raises(IndexError):
            path.get_prefix(length)


def _first(a: object, b: object) -> Any:
    found = get_first_structural_mismatch(a, b)
    swapped = get_first_structural_mismatch(b, a)
    assert (found is None) == (swapped is None)
    if found is not None and swapped is not None:
        assert found == swapped[::-1]
    return found


@pytest.mark.parametrize(
    ("a", "b", "left", "right"),
    [
        ([1, 2, 3], [1, 4, 5], ROOT.array_index(1).attr("value"), ROOT.array_index(1).attr("value")),
        ([1, 2], [1, 2, 3], ROOT.missing_array_element(2), ROOT.array_index(2)),
        ([1, 5], [1, 2, 3], ROOT.array_index(1).attr("value"), ROOT.array_index(1).attr("value")),
        ([], [1], ROOT.missing_array_element(0), ROOT.array_index(0)),
        (["a", "b"], ["a", "c"], ROOT.array_index(1), ROOT.array_index(1)),
        ({"a": 3, "b": 4}, {"a": 3, "b": 5}, ROOT.map_value("b").attr("value"), ROOT.map_value("b").attr("value")),
        ({"a": 3}, {"a": 3, "c": 5}, ROOT.missing_map_entry(), ROOT.map_value("c")),
        ([1], (1,), None, None),
    ],
)
def test_containers(a: object, b: object, left: ObjectPath | None, right: ObjectPath | None) -> None:
    assert _first(a, b) == (None if left is None else (left, right))


def test_functions() -> None:
    x, y = te.var("x"), te.var("y", "int64")
    assert (
        _first(tir.PrimFunc([x], tir.Evaluate(x)), tir.PrimFunc([y], tir.Evaluate(y)))
        == (ROOT.attr("params").array_index(0).attr("dtype"),) * 2
    )
    one, other = (tir.PrimFunc([x], tir.SeqStmt([tir.Evaluate(x), tir.Evaluate(x + n)])) for n in (1, 2))
    body = ROOT.attr("body").attr("seq").array_index(1).attr("value").attr("b").attr("value")
    assert _first(one, other) == (body, body)
    longer = tir.PrimFunc([x], tir.SeqStmt([*one.body.seq, tir.Evaluate(x)]))  # type: ignore[attr-defined]
    seq = ROOT.attr("body").attr("seq")
    assert _first(one, longer) == (seq.missing_array_element(2), seq.array_index(2))
    mods = IRModule({"main": one}), IRModule({"main": other})
    functions = [ROOT.attr("functions").map_value(mod.get_global_var("main")) for mod in mods]
    assert _first(*mods) == tuple(
        path.attr("body").attr("seq").array_index(1).attr("value").attr("b").attr("value") for path in functions
    )


def test_the_error_says_where() -> None:
    x = te.var("x")
    text = r"lhs at <root>.b.value:\nx \+ 1\n\^{5}\nand rhs at <root>.b.value:\nx \+ 2\n\^{5}$"
    with pytest.raises(ArgumentError, match=text):
        assert_structural_equal(x + 1, x + 2)
    with pytest.raises(ArgumentError, match=r"lhs at <root>\[0\].value:\n\(1,\)\nand rhs"):
        assert_structural_equal((1,), (2,))
    with pytest.raises(ValueError, match=r"caused by lhs at <root>"):
        assert_structural_equal(x, te.var("y"))


def test_floats_of_attributes_are_compared_in_single_precision() -> None:
    from compiler.ir import structural_equal, structural_hash

    double, single = {"epsilon": 1e-5}, {"epsilon": 9.999999747378752e-06}
    assert structural_equal(double, single)
    assert structural_hash(double) == structural_hash(single)
    assert not structural_equal(double, {"epsilon": 1.000001e-5})
    assert not structural_equal({"epsilon": 1e-12}, {"epsilon": 1e-10})
    assert structural_equal({"large": 1e300}, {"large": 1e300})
