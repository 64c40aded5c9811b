"""Statements: loops, stores, allocations and scopes."""

from __future__ import annotations

import typing
from collections.abc import Iterable, Sequence
from dataclasses import field
from enum import IntEnum
from typing import Any, ClassVar, SupportsIndex, overload

from compiler.ir import dtype as dt
from compiler.ir.deprecation import deprecated
from compiler.ir.error import DTypeError, InternalError, expected
from compiler.ir.expr.primexpr import (
    NE,
    ExprLike,
    IntImm,
    IterVar,
    PrimExpr,
    Var,
    as_exprs,
    bound_value,
    check_bound_value,
    const,
    convert,
    require_condition,
)
from compiler.ir.extension import public_module
from compiler.ir.node import node, older_names
from compiler.tir.statements.block import Block, BlockRealize, MatchBufferRegion
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.constant_memory import AllocateConst
from compiler.tir.statements.statement import Annotations, Stmt, check_statements

__all__ = [
    "COPROC_UOP_SCOPE", "IMPORT_LLVM", "REALIZE_SCOPE", "RUN_ONCE", "THREAD_KEYS", "TILE_PRODUCT", "Allocate",
    "AllocateConst", "AssertStmt", "AttrStmt", "Block", "BlockRealize", "BufferStore", "DeclBuffer", "Evaluate", "For",
    "ForKind", "IfThenElse", "LetStmt", "MatchBufferRegion", "SeqStmt", "Stmt", "While", "is_no_op", "no_op", "seq",
]  # fmt: skip


class ForKind(IntEnum):
    """How the iterations of a loop are carried out."""

    SERIAL = 0
    PARALLEL = 1
    VECTORIZED = 2
    UNROLLED = 3
    THREAD_BINDING = 4


@node
class LetStmt(Stmt):
    """A statement in which a variable, defined there, stands for a value, evaluated once.

    Raises DTypeError if the value is of another type than the variable.
    """

    children: ClassVar[tuple[str, ...]] = ("value", "body")
    defines: ClassVar[tuple[str, ...]] = ("var",)

    var: Var
    value: PrimExpr
    body: Stmt

    def __post_init__(self) -> None:
        if not isinstance(self.value, PrimExpr):
            object.__setattr__(self, "value", bound_value("LetStmt", self.var, self.value))
        elif self.value.dtype != self.var.dtype:
            check_bound_value("LetStmt", self.var, self.value)


@node
class AttrStmt(Stmt):
    """A statement for which a fact, e.g. ``thread_extent``, holds about an axis, a buffer's variable or the like."""

    children: ClassVar[tuple[str, ...]] = ("value", "body")

    node: Any
    attr_key: str
    value: PrimExpr
    body: Stmt

    def __post_init__(self) -> None:
        if not isinstance(self.value, PrimExpr):
            object.__setattr__(self, "value", convert(self.value))


THREAD_KEYS = ("thread_extent", "virtual_thread")
IMPORT_LLVM = "pragma_import_llvm"
"""Attributes whose subject is an axis that begins to exist there: real threads, and virtual ones."""

COPROC_UOP_SCOPE = "coproc_uop_scope"
"""Attribute whose body the runtime's function of that name carries out, once or more often."""
REALIZE_SCOPE = "realize_scope"
"""Key of the attribute that says where a buffer exists, around the statement that realizes it."""
TILE_PRODUCT = "pragma_tile_product"
"""Attribute around loops over sums of products that tile registers may hold, where processors have them."""
RUN_ONCE = "TVMBackendRunOnce"
"""The function that carries out a body the first time that the code of the module comes to it, and never again."""


@node
class AssertStmt(Stmt):
    """A statement that runs if a condition holds, and fails otherwise.

    Raises DTypeError if the condition is none.
    """

    children: ClassVar[tuple[str, ...]] = ("condition", "message", "body")

    condition: PrimExpr
    message: PrimExpr
    body: Stmt

    def __post_init__(self) -> None:
        require_condition(self, "condition")
        if not isinstance(self.message, PrimExpr):
            object.__setattr__(self, "message", convert(self.message))


@node
class Allocate(Stmt):
    """The scope of memory of some elements along each dimension; the type of the pointer names the storage scope.

    The memory exists where the condition holds.
    """

    children: ClassVar[tuple[str, ...]] = ("extents", "condition", "body")
    defines: ClassVar[tuple[str, ...]] = ("buffer_var",)

    buffer_var: Var
    dtype: str
    extents: tuple[PrimExpr, ...]
    condition: PrimExpr
    body: Stmt
    annotations: Annotations = field(default_factory=dict)

    def __post_init__(self) -> None:
        if type(self.extents) is not tuple:
            object.__setattr__(self, "extents", as_exprs(self.extents))
        require_condition(self, "condition")
        if self.annotations is None:
            object.__setattr__(self, "annotations", {})


@node
class DeclBuffer(Stmt):
    """The scope of a buffer whose memory exists already."""

    children: ClassVar[tuple[str, ...]] = ("body",)

    buffer: Buffer
    body: Stmt


@node
class SeqStmt(Stmt):
    """Statements in order; :func:`seq` drops no-ops as well.

    A sequence among them is replaced by its statements. Raises DTypeError, InternalError if it is not a sequence of
    statements, or there are fewer than two.
    """

    children: ClassVar[tuple[str, ...]] = ("seq",)

    seq: tuple[Stmt, ...]

    def __post_init__(self) -> None:
        check_statements("SeqStmt", self.seq)
        if type(self.seq) is not tuple:
            object.__setattr__(self, "seq", tuple(self.seq))
        if SeqStmt in map(type, self.seq):
            flat = [item for stmt in self.seq for item in (stmt.seq if isinstance(stmt, SeqStmt) else (stmt,))]
            object.__setattr__(self, "seq", tuple(flat))
        if len(self.seq) < 2:
            kind = "A SeqStmt of length 1" if self.seq else "An empty SeqStmt"
            raise InternalError(f"{kind} is prohibited: use the statement itself, or Evaluate(0) to do nothing")

    def __len__(self) -> int:
        return len(self.seq)

    def __bool__(self) -> bool:
        return True

    @overload
    def __getitem__(self, index: SupportsIndex) -> Stmt: ...

    @overload
    def __getitem__(self, index: slice) -> tuple[Stmt, ...]: ...

    def __getitem__(self, index: SupportsIndex | slice) -> Stmt | tuple[Stmt, ...]:
        return self.seq[index]


@node
class IfThenElse(Stmt):
    """One of two statements; a condition that is an integer holds where it is not zero."""

    children: ClassVar[tuple[str, ...]] = ("condition", "then_case", "else_case")

    condition: PrimExpr
    then_case: Stmt
    else_case: Stmt | None = None

    def __post_init__(self) -> None:
        _require_branch_condition(self)


@node
class Evaluate(Stmt):
    """An expression evaluated for its effect; a constant has none, and the statement does nothing."""

    children: ClassVar[tuple[str, ...]] = ("value",)

    value: PrimExpr

    def __post_init__(self) -> None:
        if not isinstance(self.value, PrimExpr):
            object.__setattr__(self, "value", convert(self.value))


@older_names(min_val="min")
@node
class For(Stmt):
    """A loop.

    The variable takes the values from ``min`` up to, but without, ``min + extent``; annotations are hints for passes,
    e.g. ``pragma_unroll_explicit``.  ``is_lanes`` marks a vectorized loop that became a serial one because of what it
    contains.

    Notes
    -----
    Releases before 0.8 had a number between kind and body, ``For(var, 0, 8, For.Vectorized, 0, body)``, which said
    nothing; it may still stand there.
    """

    children: ClassVar[tuple[str, ...]] = ("min", "extent", "body")
    defines: ClassVar[tuple[str, ...]] = ("loop_var",)
    labels: ClassVar[tuple[str, ...]] = ("is_lanes",)

    loop_var: Var
    min: PrimExpr
    extent: PrimExpr
    kind: ForKind
    body: Stmt
    thread_binding: IterVar | None = None
    annotations: Annotations = field(default_factory=dict)
    is_lanes: bool = False

    Serial: ClassVar[ForKind] = ForKind.SERIAL
    Parallel: ClassVar[ForKind] = ForKind.PARALLEL
    Vectorized: ClassVar[ForKind] = ForKind.VECTORIZED
    Unrolled: ClassVar[ForKind] = ForKind.UNROLLED

    @property
    def for_type(self) -> ForKind:
        """How the iterations are carried out, as releases before 0.8 called it."""
        return self.kind

    def __post_init__(self) -> None:
        if isinstance(self.body, int) and isinstance(self.thread_binding, Stmt):
            deprecated("For(var, min, extent, kind, 0, body)", "For(var, min, extent, kind, body)")
            object.__setattr__(self, "body", self.thread_binding)
            object.__setattr__(self, "thread_binding", None)
        if type(self.kind) is not ForKind:
            object.__setattr__(self, "kind", ForKind(self.kind))
        if not dt.is_integral(self.loop_var.dtype):
            raise DTypeError(
                f"For: the loop variable must be an integer, got {self.loop_var.name!r} of {self.loop_var.dtype}"
            )
        if not isinstance(self.min, PrimExpr):
            object.__setattr__(self, "min", _bound(self.min, self.loop_var))
        if not isinstance(self.extent, PrimExpr):
            object.__setattr__(self, "extent", _bound(self.extent, self.loop_var))
        if self.annotations is None:
            object.__setattr__(self, "annotations", {})


@node
class While(Stmt):
    """A loop that runs as long as a condition, evaluated before each iteration, holds.

    Raises ArgumentError if the condition is a constant.
    """

    children: ClassVar[tuple[str, ...]] = ("condition", "body")

    condition: PrimExpr
    body: Stmt

    def __post_init__(self) -> None:
        _require_branch_condition(self)
        if isinstance(self.condition, IntImm):
            expected("While", "condition", "an expression that changes", self.condition)


def _require_branch_condition(n: IfThenElse | While) -> None:
    """Make a condition of an integer, as in C, and check that there is one."""
    condition = n.condition
    if isinstance(condition, PrimExpr) and condition.dtype != "bool" and dt.is_integral(condition.dtype):
        zero = const(0, condition.dtype)
        truth = const(condition.value != 0, "bool") if isinstance(condition, IntImm) else NE(condition, zero)
        object.__setattr__(n, "condition", truth)
    require_condition(n, "condition")


def _bound(value: ExprLike, loop_var: Var) -> PrimExpr:
    if isinstance(value, (str, float)):
        expected("For", "min and extent", "integers", value, f"loop {loop_var.name!r}")
    return convert(value).astype(loop_var.dtype)


def no_op() -> Stmt:
    """Return the statement that does nothing."""
    return Evaluate(convert(0))


def is_no_op(stmt: Stmt) -> bool:
    """Return whether a statement evaluates a constant and does nothing else."""
    return isinstance(stmt, Evaluate) and isinstance(stmt.value, IntImm)


def seq(stmts: Iterable[Stmt]) -> Stmt:
    """Return statements in order as one, nested sequences flattened and no-ops dropped; a no-op where none is left."""
    flat: list[Stmt] = []
    for stmt in stmts:
        if isinstance(stmt, SeqStmt):
            flat.extend(stmt.seq)
        elif not is_no_op(stmt):
            flat.append(stmt)
    if not flat:
        return no_op()
    return flat[0] if len(flat) == 1 else SeqStmt(tuple(flat))


def stored_at_once(elements: Sequence[BufferLoad], values: Sequence[PrimExpr], name: str) -> Stmt:
    """Return the stores of values to elements, of several by variables that all have theirs before the first store.

    ``name`` is what the variables are called, with ``{}`` for the buffer.
    """
    if len(elements) == 1:
        return BufferStore(elements[0].buffer, values[0], elements[0].indices)
    variables = [Var(name.format(e.buffer.name), e.dtype) for e in elements]
    stmt = seq([BufferStore(e.buffer, var, e.indices) for e, var in zip(elements, variables, strict=True)])
    for var, value in zip(reversed(variables), reversed(values), strict=True):
        stmt = LetStmt(var, value, stmt)
    return stmt


if not typing.TYPE_CHECKING:  # a type checker knows all names, and refuses others
    __getattr__, __dir__ = public_module("tvm.tir.stmt", __all__)
