"""Visitors and mutators over types, with TVM's names for the rules: ``visit_tensor_type``, ``visit_func_type``, …"""

from __future__ import annotations

from typing import Any

from compiler.ir.functor import Functor
from compiler.ir.node import rebuild
from compiler.ir.types import FuncType, IncompleteType, Type, TypeRelation, TypeVar
from compiler.relay.adt import Constructor, TypeData
from compiler.relay.ty import GlobalTypeVar, RefType, TensorType, TupleType, TypeCall

_RULES: dict[type, str] = {
    FuncType: "visit_func_type",
    GlobalTypeVar: "visit_global_type_var",
    IncompleteType: "visit_incomplete_type",
    RefType: "visit_ref_type",
    TensorType: "visit_tensor_type",
    TupleType: "visit_tuple_type",
    TypeCall: "visit_type_call",
    TypeData: "visit_type_data",
    TypeRelation: "visit_type_relation",
    TypeVar: "visit_type_var",
}
_PARTS: dict[type, tuple[str, ...]] = {
    FuncType: ("arg_types", "ret_type", "type_params", "type_constraints"),
    RefType: ("value",),
    TupleType: ("fields",),
    TypeCall: ("func", "args"),
    TypeRelation: ("args",),
}
"""The fields that hold the types which a type is made of."""


class TypeFunctor(Functor):
    """Dispatches ``visit(type)`` to the rule for its class; it has no rules of its own."""

    @classmethod
    def rule_name(cls, kind: type) -> str:
        """Return the name of the rule for a class of types, e.g. ``visit_tensor_type``; empty if there is none."""
        return _RULES.get(kind, "")


class TypeVisitor(TypeFunctor):
    """Walks every part of a type; a rule that is overridden calls ``super()``'s to go on below."""

    def _parts(self, t: Any) -> None:
        for name in _PARTS.get(type(t), ()):
            part = getattr(t, name)
            for each in part if isinstance(part, tuple) else (part,):
                self.visit(each)

    visit_func_type = visit_global_type_var = visit_incomplete_type = visit_ref_type = visit_tensor_type = _parts
    visit_tuple_type = visit_type_call = visit_type_relation = visit_type_var = _parts

    def visit_type_data(self, td: TypeData) -> None:
        self.visit(td.header)
        for var in td.type_vars:
            self.visit(var)
        for constructor in td.constructors:
            for part in constructor.inputs:
                self.visit(part)


class TypeMutator(TypeFunctor):
    """Rebuilds a type; returns the very same object where nothing changed."""

    def _rebuilt(self, t: Any) -> Any:
        parts = [(name, getattr(t, name)) for name in _PARTS.get(type(t), ())]
        new = {name: self._visit_tuple(part) if isinstance(part, tuple) else self.visit(part) for name, part in parts}
        return rebuild(t, **new) if new else t

    visit_func_type = visit_global_type_var = visit_incomplete_type = visit_ref_type = visit_tensor_type = _rebuilt
    visit_tuple_type = visit_type_call = visit_type_relation = visit_type_var = _rebuilt

    def visit_type_data(self, td: TypeData) -> Type:
        return rebuild(
            td,
            header=self.visit(td.header),
            type_vars=self._visit_tuple(td.type_vars),
            constructors=tuple([self._constructor(each) for each in td.constructors]),
        )

    def _constructor(self, constructor: Constructor) -> Constructor:
        return rebuild(constructor, inputs=self._visit_tuple(constructor.inputs))
