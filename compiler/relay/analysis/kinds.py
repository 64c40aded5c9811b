"""Type variables and kind checking."""

from __future__ import annotations

from collections.abc import Iterator

from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.ir.types import (
    FuncType,
    IncompleteType,
    InferredTypes,
    Type,
    TypeConstraint,
    TypeKind,
    TypeRelation,
    TypeVar,
)
from compiler.relay.adt import Constructor, TypeData
from compiler.relay.analysis.traversal import post_order_visit
from compiler.relay.expr import Call, GraphExpr, Var
from compiler.relay.function import Function
from compiler.relay.ty import GlobalTypeVar, RefType, TupleType, TypeCall


def type_parts(t: Type) -> tuple[Type, ...]:
    """Return the types that a type is made of: fields, arguments, result, what a reference holds, conditions."""
    match t:
        case TupleType():
            return t.fields
        case FuncType():
            return (*t.arg_types, t.ret_type, *t.type_constraints)
        case RefType():
            return (t.value,)
        case TypeCall():
            return (t.func, *t.args)
        case TypeRelation():
            return t.args
        case TypeData():
            return tuple(part for con in t.constructors for part in con.inputs)
        case _:
            return ()


def check_kind(t: Type, mod: IRModule | None = None) -> TypeKind:
    """Return the kind of a type; ``mod`` defines the data types that it names.

    Raises ArgumentError if a part of it is of the wrong kind, or if a data type is applied to the wrong number of
    types.
    """
    if isinstance(t, (GlobalTypeVar, IncompleteType, TypeVar)):
        return t.kind
    if isinstance(t, TypeCall):
        _check_application(t, mod)
    for at, part in enumerate(type_parts(t)):
        expected = TypeKind.Type
        if isinstance(t, TypeCall) and at == 0:
            expected = TypeKind.AdtHandle
        elif isinstance(t, FuncType) and any(part is constraint for constraint in t.type_constraints):
            expected = TypeKind.Constraint
        if (kind := check_kind(part, mod)) is not expected:
            raise ArgumentError(f"check_kind: {part} inside of {t} is of kind {kind.name}, not {expected.name}")
    if isinstance(t, TypeConstraint):
        return TypeKind.Constraint
    return TypeKind.TypeData if isinstance(t, TypeData) else TypeKind.Type


def _check_application(t: TypeCall, mod: IRModule | None) -> None:
    if not isinstance(t.func, GlobalTypeVar):
        raise ArgumentError(f"check_kind: {t} applies {t.func}, which is not a data type")
    if mod is None:
        return
    data = mod.type_definitions.get(t.func)
    if not isinstance(data, TypeData):
        raise ArgumentError(f"check_kind: {t}: the module does not define the type {t.func.name_hint}")
    if len(data.type_vars) != len(t.args):
        raise ArgumentError(f"check_kind: {t}: {t.func.name_hint} takes {len(data.type_vars)} types, got {len(t.args)}")


def all_type_vars(expr: GraphExpr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """Return every type variable of an expression or a type; ``mod`` is accepted for TVM's programs."""
    return list(dict.fromkeys(v for t in _types_in(expr) for v in _variables(t)))


def bound_type_vars(expr: GraphExpr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """Return the type variables that the generic functions of an expression, or generic types, bind.

    ``mod`` is accepted for TVM's programs.
    """
    return list(dict.fromkeys(v for t in _types_in(expr) for v in _bound(t)))


def free_type_vars(expr: GraphExpr | Type, mod: IRModule | None = None) -> list[TypeVar]:
    """Return the type variables of an expression or a type that nothing in it binds; ``mod`` is accepted for TVM's
    programs.
    """
    bound = set(bound_type_vars(expr))
    return [v for v in all_type_vars(expr) if v not in bound]


def _types_in(expr: GraphExpr | Type) -> list[Type]:
    """Return the types that are written in an expression; of a type, itself."""
    if isinstance(expr, Type):
        return [expr]
    written_types: list[Type] = []

    def collect(part: GraphExpr) -> None:
        match part:
            case Var():
                written_types.extend([part.type_annotation] if part.type_annotation else [])
            case Function():
                written = tuple(p.type_annotation for p in part.params if p.type_annotation is not None)
                written_types.append(FuncType(written, part.ret_type or TupleType(()), part.type_params))
            case Call():
                written_types.extend(() if type(part.type_args) is InferredTypes else part.type_args)
            case Constructor():
                written_types.extend(part.inputs)

    post_order_visit(expr, collect)
    return written_types


def _variables(t: Type) -> Iterator[TypeVar]:
    if isinstance(t, TypeVar):
        yield t
    yield from _own(t)
    for part in type_parts(t):
        yield from _variables(part)


def _bound(t: Type) -> Iterator[TypeVar]:
    yield from _own(t)
    for part in type_parts(t):
        yield from _bound(part)


def _own(t: Type) -> tuple[TypeVar, ...]:
    if isinstance(t, FuncType):
        return t.type_params
    return t.type_vars if isinstance(t, TypeData) else ()
