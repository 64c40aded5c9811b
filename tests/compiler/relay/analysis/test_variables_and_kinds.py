"""What is read off expressions and types: scopes, type variables, kinds, cases that a match leaves out."""

from __future__ import annotations

from typing import Any

import pytest

import compiler.relay
from compiler.ir import IRModule
from compiler.ir.error import ArgumentError
from compiler.relay.inference import TypeInferenceError, infer_expr
from compiler.relay.ty import FuncType, TupleType, TypeCall, scalar_type

relay: Any = compiler.relay
analysis = relay.analysis

F32 = scalar_type("float32")
ONE = relay.const(1.0)


def _vars(names: str) -> list[Any]:
    return [relay.var(name, F32) for name in names]


def test_each_variable_is_defined_once() -> None:
    x, y = _vars("xy")
    assert analysis.well_formed(relay.Let(x, ONE, relay.Let(y, x, y)))
    assert not analysis.well_formed(relay.Let(x, ONE, relay.Let(x, ONE, x)))
    assert not analysis.well_formed(relay.Tuple([relay.Let(x, ONE, x), relay.Let(x, ONE, x)]))


def test_a_shared_expression_is_one_definition() -> None:
    (x,) = _vars("x")
    shared = relay.Let(x, ONE, x)
    assert analysis.well_formed(relay.Tuple([shared, shared]))


def test_variables_end_with_their_scope() -> None:
    x, y = _vars("xy")
    assert analysis.well_formed(x)
    assert analysis.well_formed(relay.Function([x], relay.Function([y], relay.Tuple([x, y]))))
    assert not analysis.well_formed(relay.Tuple([relay.Let(x, ONE, x), x]))
    assert not analysis.well_formed(relay.Tuple([x, relay.Function([x], x)]))


def test_a_long_chain_of_lets() -> None:
    names = _vars("v" * 20_000)
    body: Any = names[-1]
    for var, value in zip(reversed(names), reversed([ONE, *names[:-1]]), strict=True):
        body = relay.Let(var, value, body)
    assert analysis.well_formed(body)
    assert not analysis.well_formed(relay.Let(relay.var("w"), body, names[3]))


def test_modules_are_checked_function_by_function() -> None:
    x, y = _vars("xy")
    assert analysis.well_formed(IRModule({"f": relay.Function([x], x), "g": relay.Function([x], x)}))
    assert not analysis.well_formed(IRModule({"f": relay.Function([y], relay.Let(y, ONE, y))}))


def test_type_variables() -> None:
    a, b = relay.TypeVar("a"), relay.TypeVar("b")
    x, y = relay.var("x", a), relay.var("y", TupleType((b, a)))
    generic = relay.Function([x, y], x, a, [a])
    assert analysis.all_type_vars(generic) == [a, b]
    assert analysis.bound_type_vars(generic) == [a]
    assert analysis.free_type_vars(generic) == [b]
    assert analysis.free_type_vars(FuncType((a,), b, (b,))) == [a]


def test_kinds() -> None:
    a, box = relay.TypeVar("a"), relay.GlobalTypeVar("Box")
    mod: Any = IRModule()
    mod[box] = relay.TypeData(box, (a,), (relay.Constructor("Boxed", (a,), box),))
    assert analysis.check_kind(FuncType((F32,), TupleType((F32, a)))) == relay.TypeKind.Type
    assert analysis.check_kind(box(F32), mod) == relay.TypeKind.Type
    assert analysis.check_kind(box) == relay.TypeKind.AdtHandle
    assert analysis.check_kind(mod.type_definitions[box], mod) == relay.TypeKind.TypeData


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda box: TupleType((box,)), "Box inside of .* is of kind AdtHandle, not Type"),
        (lambda box: box(box), "Box inside of .* is of kind AdtHandle, not Type"),
        (lambda box: TypeCall(F32, (F32,)), "which is not a data type"),
        (lambda box: box(F32, F32), "Box takes 1 types, got 2"),
        (lambda box: relay.GlobalTypeVar("Nowhere")(F32), "the module does not define the type Nowhere"),
    ],
)
def test_types_that_make_no_sense(make: Any, message: str) -> None:
    a, box = relay.TypeVar("a"), relay.GlobalTypeVar("Box")
    mod: Any = IRModule()
    mod[box] = relay.TypeData(box, (a,), (relay.Constructor("Boxed", (a,), box),))
    with pytest.raises(ArgumentError, match=message):
        analysis.check_kind(make(box), mod)
    with pytest.raises(TypeInferenceError, match=message):
        infer_expr(relay.Function([relay.var("x", make(box))], ONE), mod)


def test_cases_that_a_match_leaves_out() -> None:
    color = relay.GlobalTypeVar("Color")
    red, green, blue = (relay.Constructor(name, (), color) for name in ("Red", "Green", "Blue"))
    mod: Any = IRModule()
    mod[color] = relay.TypeData(color, (), (red, green, blue))
    both = relay.var("both", TupleType((color(), color())))

    def left_out(*pairs: tuple[Any, Any]) -> list[tuple[str, ...]]:
        clauses = [relay.Clause(relay.PatternTuple([_pattern(p) for p in pair]), ONE) for pair in pairs]
        cases = analysis.unmatched_cases(relay.Match(both, clauses), mod)
        return [tuple(getattr(getattr(p, "constructor", None), "name_hint", "_") for p in c.patterns) for c in cases]

    def _pattern(con: Any) -> Any:
        return relay.PatternWildcard() if con is None else relay.PatternConstructor(con)

    assert left_out((red, None), (None, red)) == [
        ("Blue", "Blue"),
        ("Blue", "Green"),
        ("Green", "Blue"),
        ("Green", "Green"),
    ]
    assert left_out((red, None), (green, blue), (None, None)) == []
    assert left_out((red, None), (green, None)) == [("Blue", "_")]


def test_a_shared_chain_of_lets_is_one_definition() -> None:
    x, y, z = _vars("xyz")
    shared = relay.Let(x, ONE, relay.Let(y, x, y))
    assert analysis.well_formed(relay.Tuple([shared, relay.Let(z, ONE, shared)]))
