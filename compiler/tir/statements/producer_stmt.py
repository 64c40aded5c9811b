"""Statements of lowered tensor expressions, before storage flattening: realizations, stores and prefetches."""

from __future__ import annotations

from typing import Any, ClassVar

from compiler.ir.expr.primexpr import PrimExpr, Range, as_exprs, convert, require_condition
from compiler.ir.node import node
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.statement import Stmt


@node
class BufferRealize(Stmt):
    """The realization of a region of a buffer under a condition; its storage is allocated later."""

    children: ClassVar[tuple[str, ...]] = ("bounds", "condition", "body")
    defines: ClassVar[tuple[str, ...]] = ("buffer",)

    buffer: Buffer
    bounds: tuple[Range, ...]
    condition: PrimExpr
    body: Stmt

    def __post_init__(self) -> None:
        if type(self.bounds) is not tuple:
            object.__setattr__(self, "bounds", tuple(self.bounds))
        require_condition(self, "condition")


@node
class ProducerStore(Stmt):
    """``producer[indices] = value``: a store to a tensor without a buffer."""

    children: ClassVar[tuple[str, ...]] = ("value", "indices")

    producer: Any
    value: PrimExpr
    indices: tuple[PrimExpr, ...]

    def __post_init__(self) -> None:
        if not isinstance(self.value, PrimExpr):
            object.__setattr__(self, "value", convert(self.value).astype(self.producer.dtype))
        if type(self.indices) is not tuple:
            object.__setattr__(self, "indices", as_exprs(self.indices))


@node
class ProducerRealize(Stmt):
    """The realization of a region of a tensor without a buffer, under a condition.

    The storage scope is empty for the default.
    """

    children: ClassVar[tuple[str, ...]] = ("bounds", "condition", "body")

    producer: Any
    bounds: tuple[Range, ...]
    condition: PrimExpr
    body: Stmt
    storage_scope: str = ""

    def __post_init__(self) -> None:
        if type(self.bounds) is not tuple:
            object.__setattr__(self, "bounds", tuple(self.bounds))
        require_condition(self, "condition")


@node
class Prefetch(Stmt):
    """A prefetch hint for a region of a buffer."""

    children: ClassVar[tuple[str, ...]] = ("bounds",)

    buffer: Buffer
    bounds: tuple[Range, ...]

    def __post_init__(self) -> None:
        if type(self.bounds) is not tuple:
            object.__setattr__(self, "bounds", tuple(self.bounds))
