"""Visitors and mutators over types, with TVM's names for the rules: ``visit_tensor_type``, ``visit_func_type``, …"""

from __future__ import annotations

from compiler.ir.functor import Functor
from compiler.ir.node import rebuild, same_items
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


class TypeFunctor(Functor):
    """Dispatches ``visit(type)`` to the rule for its class; it has no rules of its own."""

    @classmethod
    def rule_name(cls, kind: type) -> str:
        """Return the name of the rule for a class of types as TVM calls it, e.g. ``visit_tensor_type``; empty if there
        is none.
        """
        return _RULES.get(kind, "")


class TypeVisitor(TypeFunctor):
    """Walks every part of a type; a rule that is overridden calls ``super()``'s to go on below."""

    def visit_type_var(self, tv: TypeVar) -> None:
        pass

    def visit_incomplete_type(self, it: IncompleteType) -> None:
        pass

    def visit_tensor_type(self, tt: TensorType) -> None:
        pass

    def visit_global_type_var(self, gtv: GlobalTypeVar) -> None:
        pass

    def visit_func_type(self, ft: FuncType) -> None:
        for part in (*ft.arg_types, ft.ret_type, *ft.type_params, *ft.type_constraints):
            self.visit(part)

    def visit_tuple_type(self, tt: TupleType) -> None:
        for field in tt.fields:
            self.visit(field)

    def visit_type_relation(self, tr: TypeRelation) -> None:
        for arg in tr.args:
            self.visit(arg)

    def visit_ref_type(self, rt: RefType) -> None:
        self.visit(rt.value)

    def visit_type_call(self, tc: TypeCall) -> None:
        for part in (tc.func, *tc.args):
            self.visit(part)

    def visit_type_data(self, td: TypeData) -> None:
        self.visit(td.header)
        for var in td.type_vars:
            self.visit(var)
        for constructor in td.constructors:
            for part in constructor.inputs:
                self.visit(part)


class TypeMutator(TypeFunctor):
    """Rebuilds a type; returns the very same object where nothing changed."""

    def visit_type_var(self, tv: TypeVar) -> Type:
        return tv

    def visit_incomplete_type(self, it: IncompleteType) -> Type:
        return it

    def visit_tensor_type(self, tt: TensorType) -> Type:
        return tt

    def visit_global_type_var(self, gtv: GlobalTypeVar) -> Type:
        return gtv

    def visit_func_type(self, ft: FuncType) -> Type:
        return rebuild(
            ft,
            arg_types=self._all(ft.arg_types),
            ret_type=self.visit(ft.ret_type),
            type_params=self._all(ft.type_params),
            type_constraints=self._all(ft.type_constraints),
        )

    def visit_tuple_type(self, tt: TupleType) -> Type:
        return rebuild(tt, fields=self._all(tt.fields))

    def visit_type_relation(self, tr: TypeRelation) -> Type:
        return rebuild(tr, args=self._all(tr.args))

    def visit_ref_type(self, rt: RefType) -> Type:
        return rebuild(rt, value=self.visit(rt.value))

    def visit_type_call(self, tc: TypeCall) -> Type:
        return rebuild(tc, func=self.visit(tc.func), args=self._all(tc.args))

    def visit_type_data(self, td: TypeData) -> Type:
        return rebuild(
            td,
            header=self.visit(td.header),
            type_vars=self._all(td.type_vars),
            constructors=tuple([self._constructor(each) for each in td.constructors]),
        )

    def _constructor(self, constructor: Constructor) -> Constructor:
        return rebuild(constructor, inputs=self._all(constructor.inputs))

    def _all(self, types: tuple[Type, ...]) -> tuple[Type, ...]:
        new = tuple([self.visit(t) for t in types])
        return types if same_items(new, types) else new
