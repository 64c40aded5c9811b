"""``Load`` and ``Store`` of releases before 0.9: accesses by a pointer and one index."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from compiler.ir import dtype as dt
from compiler.ir.error import ArgumentError, show
from compiler.ir.expr.primexpr import Broadcast, ExprLike, IntImm, PrimExpr, Var, as_exprs, const, convert
from compiler.ir.types import PointerType
from compiler.tir.expressions.builtin import if_then_else
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.statement import Stmt
from compiler.tir.statements.stmt import IfThenElse


@lru_cache(maxsize=256)
def flat_buffer(pointer: Var, dtype: str) -> Buffer:
    """Return the flat view of a pointer's memory: the same one for all accesses of a program.

    ``dtype`` is that of the elements where the type of the pointer does not say.
    """
    kind = pointer.type_annotation
    element = kind.element_type.dtype if isinstance(kind, PointerType) else dtype
    return Buffer(pointer, element, (const(1),), (), const(0), pointer.name)


class _NodeAlias(type):
    """The type of the older names: the nodes that took their places are instances."""

    node: type

    def __instancecheck__(cls, instance: object) -> bool:
        return isinstance(instance, cls.node)


class Load(metaclass=_NodeAlias):
    """The read of an element by a pointer and one index; a ``BufferLoad`` of the flat view of its memory.

    The value is a vector where ``index`` is one; where ``predicate`` is false, nothing is read and the value is zero.
    """

    node = BufferLoad

    def __new__(cls, dtype: str, buffer_var: Var, index: ExprLike, predicate: ExprLike | None = None) -> Any:
        load = BufferLoad(flat_buffer(buffer_var, dt.element(dtype)), as_exprs(index))
        if predicate is None or _holds(convert(predicate)):
            return load
        return if_then_else(_scalar("Load", predicate), load, const(0, load.dtype))


class Store(metaclass=_NodeAlias):
    """The store of an element by a pointer and one index; a ``BufferStore`` to the flat view of its memory.

    The value is a vector where ``index`` is one; where ``predicate`` is false, nothing is stored.
    """

    node = BufferStore

    def __new__(cls, buffer_var: Var, value: ExprLike, index: ExprLike, predicate: ExprLike | None = None) -> Any:
        stored = convert(value)
        store: Stmt = BufferStore(flat_buffer(buffer_var, dt.element(stored.dtype)), stored, as_exprs(index))
        if predicate is None or _holds(convert(predicate)):
            return store
        return IfThenElse(_scalar("Store", predicate), store)


def _holds(condition: PrimExpr) -> bool:
    """Return whether a condition is constantly true, of all lanes."""
    scalar = condition.value if isinstance(condition, Broadcast) else condition
    return isinstance(scalar, IntImm) and scalar.value != 0


def _scalar(owner: str, predicate: ExprLike) -> PrimExpr:
    condition = convert(predicate)
    if condition.dtype != "bool":
        raise ArgumentError(f"{owner}: predicate must be one condition of type bool, got {show(condition)}")
    return condition
