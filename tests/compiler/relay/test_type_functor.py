"""Visitors and mutators over types, kinds of types, and conditions on types."""

from __future__ import annotations

from typing import Any

import pytest

import compiler as tvm
import compiler.relay
from compiler.ir.error import ArgumentError
from compiler.ir.functor import NoRuleError
from compiler.relay.adt import Constructor, TypeData

relay: Any = compiler.relay

VAR, SHAPE_VAR = relay.TypeVar("a"), relay.TypeVar("n", relay.TypeKind.ShapeVar)
TENSOR = relay.TensorType((1, 2), "float32")
LIST = relay.GlobalTypeVar("List")
CONDITION = relay.TypeRelation(tvm.ir.EnvFunc.get("tvm.relay.type_relation.Broadcast"), [TENSOR, VAR, TENSOR], 2)
TYPES = [
    VAR,
    relay.IncompleteType(),
    TENSOR,
    relay.TupleType([TENSOR, VAR]),
    relay.RefType(relay.TupleType([TENSOR])),
    relay.TypeCall(LIST, [TENSOR]),
    LIST,
    CONDITION,
    relay.FuncType([VAR, TENSOR], relay.RefType(VAR), [VAR], [CONDITION]),
    TypeData(LIST, [VAR], [Constructor("Cons", [VAR, TENSOR], LIST)]),
]
IDS = [type(t).__name__ for t in TYPES]


@pytest.mark.parametrize("t", TYPES, ids=IDS)
def test_a_mutator_without_rules_of_its_own_returns_the_same_type(t: Any) -> None:
    assert relay.TypeMutator().visit(t) is t
    relay.TypeVisitor().visit(t)


@pytest.mark.parametrize("t", TYPES, ids=IDS)
def test_a_functor_has_no_rules(t: Any) -> None:
    with pytest.raises(NoRuleError, match="TypeFunctor has no rule"):
        relay.TypeFunctor().visit(t)


class _ToInt8(relay.TypeMutator):  # type: ignore[misc, name-defined]
    def visit_tensor_type(self, tt: Any) -> Any:
        return relay.TensorType(tt.shape, "int8")


class _CountTensors(relay.TypeVisitor):  # type: ignore[misc, name-defined]
    def __init__(self) -> None:
        self.count = 0

    def visit_tensor_type(self, tt: Any) -> None:
        self.count += 1


@pytest.mark.parametrize("t", TYPES, ids=IDS)
def test_tensors_are_reached_in_every_type(t: Any) -> None:
    count = _CountTensors()
    count.visit(t)
    expected = {"TensorType": 1, "TupleType": 1, "RefType": 1, "TypeCall": 1, "TypeRelation": 2, "TypeData": 1}
    assert count.count == {**expected, "FuncType": 3}.get(type(t).__name__, 0)
    changed = _ToInt8().visit(t)
    assert (changed is t) == (count.count == 0)


def test_kinds_tell_type_variables_apart() -> None:
    assert relay.analysis.check_kind(SHAPE_VAR) == relay.TypeKind.ShapeVar
    assert relay.analysis.check_kind(CONDITION) == relay.TypeKind.Constraint
    assert relay.analysis.check_kind(TYPES[8]) == relay.TypeKind.Type
    same = relay.TypeVar("m", relay.TypeKind.ShapeVar)
    assert tvm.ir.structural_equal(SHAPE_VAR, same, map_free_vars=True)
    assert not tvm.ir.structural_equal(SHAPE_VAR, VAR, map_free_vars=True)


@pytest.mark.parametrize(
    "t",
    [
        relay.TupleType([SHAPE_VAR]),
        relay.RefType(CONDITION),
        relay.FuncType([SHAPE_VAR], VAR, [VAR, SHAPE_VAR]),
        relay.FuncType([VAR], VAR, [VAR], [VAR]),
        relay.TypeRelation(None, [SHAPE_VAR], 1),
        relay.TypeCall(relay.GlobalTypeVar("t", relay.TypeKind.Type), []),
    ],
    ids=str,
)
def test_types_of_the_wrong_kind_are_refused(t: Any) -> None:
    with pytest.raises(ArgumentError, match="check_kind: "):
        relay.analysis.check_kind(t)


def test_incomplete_types_match_as_free_variables_do() -> None:
    a, b, shape = relay.IncompleteType(), relay.IncompleteType(), relay.IncompleteType(relay.TypeKind.ShapeVar)
    assert not tvm.ir.structural_equal(a, b)
    assert tvm.ir.structural_equal(a, b, map_free_vars=True)
    assert not tvm.ir.structural_equal(a, shape, map_free_vars=True)


def test_a_function_of_the_runtime_is_named_in_programs() -> None:
    identity = tvm.ir.EnvFunc.get("tvm.relay.type_relation.Identity")
    assert identity == tvm.ir.EnvFunc.get("tvm.relay.type_relation.Identity") != CONDITION.func
    assert identity((TENSOR,), None) is TENSOR
    with pytest.raises(ArgumentError, match="no function is registered"):
        tvm.ir.EnvFunc.get("tvm.relay.type_relation.Nothing")
