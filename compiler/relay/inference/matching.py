"""Types of constructors and patterns, and whether patterns cover every value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Protocol

from compiler.ir.error import ArgumentError
from compiler.ir.module import IRModule
from compiler.ir.types import FuncType, Type
from compiler.relay.adt import Constructor, Match, Pattern, PatternConstructor, PatternTuple, PatternVar, TypeData
from compiler.relay.analysis import unmatched_cases
from compiler.relay.expr import GraphExpr
from compiler.relay.inference.solver import instantiate
from compiler.relay.ty import IncompleteType, TupleType, TypeCall


class InferenceRun(Protocol):
    """What patterns need of the inference that they are a part of."""

    types: dict[GraphExpr, Type]

    def visit(self, expr: GraphExpr) -> Type:
        """Return the type of an expression, as far as it is known now."""

    def unify(self, expected: Type, got: Type, expr: GraphExpr, what: Callable[[], str]) -> Type:
        """Make two types the same, or report that they cannot be."""

    def error(self, message: str, expr: GraphExpr) -> Type:
        """Report an error; return a fresh type variable."""


def definition_of(con: Constructor, mod: IRModule | None) -> TypeData:
    """Return the definition of the type that a constructor belongs to."""
    data = None if mod is None else mod.type_definitions.get(con.belong_to)
    if not isinstance(data, TypeData):
        raise ArgumentError(f"{con.name_hint}: the module does not define the type {con.belong_to.name_hint}")
    return data


def constructor_type(con: Constructor, mod: IRModule | None) -> FuncType:
    """Return a constructor's type, as a function generic in the variables of its data type."""
    variables = definition_of(con, mod).type_vars
    return FuncType(con.inputs, TypeCall(con.belong_to, variables), variables)


def infer_pattern(run: InferenceRun, pattern: Pattern, data: Type, m: Match) -> None:
    """Give the variables of a pattern their types, which follow from the type of what is matched."""
    match pattern:
        case PatternVar(var=var):
            t = data
            if var.type_annotation is not None:
                run.unify(var.type_annotation, data, m, lambda: f"pattern variable %{var.name_hint}")
                t = var.type_annotation
            run.types[var] = t
        case PatternTuple(patterns=parts):
            fields: tuple[Type, ...] = tuple(IncompleteType() for _ in parts)
            run.unify(TupleType(fields), data, m, lambda: f"a pattern of {len(parts)} elements")
            for part, field in zip(parts, fields, strict=True):
                infer_pattern(run, part, field, m)
        case PatternConstructor():
            _infer_constructor_pattern(run, pattern, data, m)


def _infer_constructor_pattern(run: InferenceRun, pattern: PatternConstructor, data: Type, m: Match) -> None:
    con, parts = pattern.constructor, pattern.patterns
    inputs: tuple[Type, ...]
    scheme: Any = run.visit(con) if con not in run.types else run.types[con]
    if isinstance(scheme, FuncType):
        use = instantiate(scheme)
        run.unify(use.ret_type, data, m, lambda: f"pattern {con.name_hint}")
        inputs = use.arg_types
    else:
        inputs = tuple(IncompleteType() for _ in parts)
    if len(parts) != len(inputs):
        run.error(f"pattern {con.name_hint} must have {len(inputs)} parts, it has {len(parts)}", m)
    for part, t in zip(parts, inputs, strict=False):
        infer_pattern(run, part, t, m)


def missing_cases(m: Match, mod: IRModule | None) -> list[str]:
    """Return the patterns that no clause of a match covers, as text."""
    return [] if mod is None else [_text(p) for p in unmatched_cases(m, mod)]


def _text(pattern: Pattern) -> str:
    match pattern:
        case PatternConstructor(constructor=con, patterns=parts):
            return f"{con.name_hint}({', '.join(_text(p) for p in parts)})" if parts else con.name_hint
        case PatternTuple(patterns=parts):
            return f"({', '.join(_text(p) for p in parts)})"
        case _:
            return "_"
