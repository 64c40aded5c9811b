"""Statements: the loops, stores and scopes that a lowered function is made of."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import field
from enum import IntEnum
from typing import Any, ClassVar

from compiler.ir.error import expected
from compiler.ir.node import Node, node
from compiler.ir.primexpr import ExprLike, IterVar, PrimExpr, Range, Var, as_exprs, convert
from compiler.ir.text_format import text_of
from compiler.tir.buffer import Buffer


class ForKind(IntEnum):
    """How the iterations of a loop are carried out."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3
    THREAD_BINDING = 4


@node
class Stmt(Node):
    """Base of all statements."""

    def __str__(self) -> str:
        return text_of(self)

    __repr__ = __str__


@node
class LetStmt(Stmt):
    """``body`` with ``var`` bound to ``value``."""

    children: ClassVar[tuple[str, ...]] = ("value", "body")
    defines: ClassVar[tuple[str, ...]] = ("var",)

    var: Var
    value: PrimExpr
    body: Stmt


@node
class AttrStmt(Stmt):
    """``body`` with the fact ``attr_key`` of ``node`` set to ``value``."""

    children: ClassVar[tuple[str, ...]] = ("value", "body")

    node: Any
    attr_key: str
    value: PrimExpr
    body: Stmt


THREAD_KEYS = ("thread_extent", "virtual_thread")
"""Attributes whose subject is an axis that begins to exist there: real threads, and virtual ones."""


@node
class AssertStmt(Stmt):
    """Fails with ``message`` unless ``condition`` holds; then ``body``."""

    children: ClassVar[tuple[str, ...]] = ("condition", "message", "body")

    condition: PrimExpr
    message: PrimExpr
    body: Stmt


@node
class BufferStore(Stmt):
    """``buffer[indices] = value``."""

    children: ClassVar[tuple[str, ...]] = ("value", "indices")

    buffer: Buffer
    value: PrimExpr
    indices: tuple[PrimExpr, ...]

    def __post_init__(self) -> None:
        # As below, scripts pass numbers and lists, as TVM's constructors take them.
        if type(self.indices) is not tuple:
            object.__setattr__(self, "indices", as_exprs(self.indices))
        if not isinstance(self.value, PrimExpr):
            object.__setattr__(self, "value", convert(self.value).astype(self.buffer.dtype))


@node
class BufferRealize(Stmt):
    """The buffer exists within ``body``, for the elements within ``bounds``."""

    children: ClassVar[tuple[str, ...]] = ("bounds", "condition", "body")
    defines: ClassVar[tuple[str, ...]] = ("buffer",)

    buffer: Buffer
    bounds: tuple[Range, ...]
    condition: PrimExpr
    body: Stmt


@node
class ProducerStore(Stmt):
    """``producer[indices] = value``: a store to a tensor that has no buffer yet."""

    children: ClassVar[tuple[str, ...]] = ("value", "indices")

    producer: Any
    value: PrimExpr
    indices: tuple[PrimExpr, ...]


@node
class ProducerRealize(Stmt):
    """The tensor exists within ``body``, for the elements within ``bounds``."""

    children: ClassVar[tuple[str, ...]] = ("bounds", "condition", "body")

    producer: Any
    bounds: tuple[Range, ...]
    condition: PrimExpr
    body: Stmt
    storage_scope: str = ""


@node
class Allocate(Stmt):
    """Memory for ``extents`` elements of ``dtype`` behind ``buffer_var``, within ``body``."""

    children: ClassVar[tuple[str, ...]] = ("extents", "condition", "body")
    defines: ClassVar[tuple[str, ...]] = ("buffer_var",)

    buffer_var: Var
    dtype: str
    extents: tuple[PrimExpr, ...]
    condition: PrimExpr
    body: Stmt
    annotations: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if type(self.extents) is not tuple:
            object.__setattr__(self, "extents", as_exprs(self.extents))


@node
class DeclBuffer(Stmt):
    """``buffer`` names memory that exists already, within ``body``."""

    children: ClassVar[tuple[str, ...]] = ("body",)

    buffer: Buffer
    body: Stmt


@node
class SeqStmt(Stmt):
    """Statements in order, none of which is a sequence; build it with :func:`seq`, which drops no-ops as well."""

    children: ClassVar[tuple[str, ...]] = ("seq",)

    seq: tuple[Stmt, ...]

    def __post_init__(self) -> None:
        if type(self.seq) is not tuple:
            object.__setattr__(self, "seq", tuple(self.seq))
        if SeqStmt in map(type, self.seq):
            flat = [item for stmt in self.seq for item in (stmt.seq if isinstance(stmt, SeqStmt) else (stmt,))]
            object.__setattr__(self, "seq", tuple(flat))


@node
class IfThenElse(Stmt):
    """``then_case`` where ``condition`` holds, else ``else_case`` if there is one."""

    children: ClassVar[tuple[str, ...]] = ("condition", "then_case", "else_case")

    condition: PrimExpr
    then_case: Stmt
    else_case: Stmt | None = None


@node
class Evaluate(Stmt):
    """An expression evaluated for its effect; a constant for none."""

    children: ClassVar[tuple[str, ...]] = ("value",)

    value: PrimExpr

    def __post_init__(self) -> None:
        if not isinstance(self.value, PrimExpr):
            object.__setattr__(self, "value", convert(self.value))


@node
class For(Stmt):
    """``body`` for ``loop_var`` from ``min`` on, ``extent`` times.

    ``kind`` says how; ``thread_binding`` is the thread axis of a THREAD_BINDING loop.
    """

    children: ClassVar[tuple[str, ...]] = ("min", "extent", "body")
    defines: ClassVar[tuple[str, ...]] = ("loop_var",)

    loop_var: Var
    min: PrimExpr
    extent: PrimExpr
    kind: ForKind
    body: Stmt
    thread_binding: IterVar | None = None
    annotations: Mapping[str, Any] = field(default_factory=dict)

    def __post_init__(self) -> None:
        if type(self.kind) is not ForKind:
            object.__setattr__(self, "kind", ForKind(self.kind))
        if not isinstance(self.min, PrimExpr):
            object.__setattr__(self, "min", _bound(self.min, self.loop_var))
        if not isinstance(self.extent, PrimExpr):
            object.__setattr__(self, "extent", _bound(self.extent, self.loop_var))


@node
class While(Stmt):
    """``body`` as long as ``condition`` holds."""

    children: ClassVar[tuple[str, ...]] = ("condition", "body")

    condition: PrimExpr
    body: Stmt


@node
class Prefetch(Stmt):
    """A hint to fetch a box of a buffer."""

    children: ClassVar[tuple[str, ...]] = ("bounds",)

    buffer: Buffer
    bounds: tuple[Range, ...]


def _bound(value: ExprLike, loop_var: Var) -> PrimExpr:
    if isinstance(value, (str, float)):
        expected("For", "min and extent", "integers", value, f"loop {loop_var.name!r}")
    return convert(value).astype(loop_var.dtype)


def no_op() -> Stmt:
    """Return the statement that does nothing."""
    return Evaluate(convert(0))


def is_no_op(stmt: Stmt) -> bool:
    """Return whether ``stmt`` evaluates a constant and does nothing else."""
    from compiler.ir.primexpr import IntImm

    return isinstance(stmt, Evaluate) and isinstance(stmt.value, IntImm)


def seq(stmts: Iterable[Stmt]) -> Stmt:
    """Return the statements in order as one, nested sequences flattened and no-ops dropped."""
    flat: list[Stmt] = []
    for stmt in stmts:
        if isinstance(stmt, SeqStmt):
            flat.extend(stmt.seq)
        elif not is_no_op(stmt):
            flat.append(stmt)
    if not flat:
        return no_op()
    return flat[0] if len(flat) == 1 else SeqStmt(tuple(flat))
