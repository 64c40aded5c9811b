"""The imperative IR builder: ``tvm.tir.ir_builder``.

Statements are emitted in order; what is opened by ``with`` takes the statements emitted inside.

    ib = tvm.tir.ir_builder.create()
    A = ib.pointer("float32", name="A")
    with ib.for_range(0, n, name="i") as i:
        with ib.if_scope(i % 2 == 0):
            A[i] = A[i] + 1
    stmt = ib.get()
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from compiler.ir.error import ArgumentError, counted, show
from compiler.ir.expr.primexpr import ExprLike, IntImm, PrimExpr, StringImm, Var, as_exprs, const, convert
from compiler.ir.types import PointerType, PrimType
from compiler.tir.expressions.builtin import likely
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import Stmt, seq

_KINDS = {
    "serial": tir.ForKind.SERIAL,
    "parallel": tir.ForKind.PARALLEL,
    "vectorize": tir.ForKind.VECTORIZED,
    "unroll": tir.ForKind.UNROLLED,
}


def create() -> IRBuilder:
    """Return a builder that has emitted nothing yet."""
    return IRBuilder()


class BufferVar:
    """Memory that is read and written by indexing."""

    def __init__(self, builder: IRBuilder, buffer: Buffer) -> None:
        self._builder = builder
        self.buffer = buffer
        self.dtype = buffer.dtype

    @property
    def name(self) -> str:
        """The name of the memory."""
        return self.buffer.name

    def asobject(self) -> Buffer:
        """Return the memory as a buffer; among the operands of calls it stands for its pointer."""
        return self.buffer

    def __getitem__(self, index: ExprLike) -> PrimExpr:
        return BufferLoad(self.buffer, self._indices(index))

    def __setitem__(self, index: ExprLike, value: ExprLike) -> None:
        indices = self._indices(index)
        stored = BufferLoad(self.buffer, indices).dtype
        self._builder.emit(tir.BufferStore(self.buffer, convert(value).astype(stored), indices))

    def _indices(self, index: object) -> tuple[PrimExpr, ...]:
        indices = as_exprs(index if isinstance(index, tuple) else (index,))
        dims = len(self.buffer.shape)
        if len(indices) == 1 and dims > 1:
            return _unraveled(indices[0], self.buffer.shape)
        if len(indices) != dims:
            raise ArgumentError(f"{self.buffer.name}: expected {counted(dims, 'index', 'indices')}, got {len(indices)}")
        return indices


def _unraveled(place: PrimExpr, shape: Sequence[PrimExpr]) -> tuple[PrimExpr, ...]:
    """Return the indices of an element from its place in row-major order."""
    indices: list[PrimExpr] = []
    for extent in reversed(shape[1:]):
        indices.append(place % extent)
        place = place // extent
    return (place, *reversed(indices))


class IRBuilder:
    """Emits statements into the innermost block that is open."""

    def __init__(self) -> None:
        self._blocks: list[list[Stmt | Callable[[Stmt], Stmt]]] = [[]]
        self._unnamed_loops = 0

    def emit(self, stmt: object) -> None:
        """Add a statement, an expression to evaluate, or a function that wraps all that follows in the block.

        A function takes what follows it in the block as one statement, and returns a statement around that. Raises
        ArgumentError if it is not one of these.
        """
        if isinstance(stmt, PrimExpr):
            stmt = tir.Evaluate(stmt)
        if not isinstance(stmt, Stmt) and not callable(stmt):
            raise ArgumentError(f"emit: expected a statement, got {show(stmt)}")
        self._blocks[-1].append(stmt)

    def get(self) -> Stmt:
        """Return everything that was emitted as one statement.

        Raises ArgumentError if a ``with`` block is still open.
        """
        if len(self._blocks) != 1:
            raise ArgumentError("get: a `with` block of the builder is still open")
        stmt = _sequence(self._blocks[0])
        self._blocks[0] = []
        return stmt

    @contextmanager
    def _block(self, wrap: Callable[[Stmt], Stmt]) -> Iterator[None]:
        self._blocks.append([])
        try:
            yield
        finally:
            body = _sequence(self._blocks.pop())
        self.emit(wrap(body))

    # blocks

    @contextmanager
    def for_range(
        self, begin: ExprLike, end: ExprLike, name: str = "i", dtype: str | None = None, kind: str = "serial",
        for_type: str | None = None,
    ) -> Iterator[Var]:  # fmt: skip
        """Open a loop from ``begin`` to before ``end`` and give its variable.

        The loop is of kind ``serial``, ``parallel``, ``vectorize`` or ``unroll``; its variable has the type of
        ``begin`` and ``end`` by default. Loops after the first one that are called ``i`` are ``j``, ``k``, ``i_0``, …
        Raises ArgumentError if ``kind``, which releases before 0.8 call ``for_type``, is not one of these.
        """
        kind = for_type or kind
        if kind not in _KINDS:
            raise ArgumentError(f"for_range: kind must be one of {', '.join(_KINDS)}, got {show(kind)}")
        low, high = convert(begin), convert(end)
        var = Var(self._loop_name(name), dtype or (high.dtype if isinstance(low, IntImm) else low.dtype))
        extent = high.astype(var.dtype) - low.astype(var.dtype)
        with self._block(lambda body: tir.For(var, low.astype(var.dtype), extent, _KINDS[kind], body)):
            yield var

    def _loop_name(self, name: str) -> str:
        if name != "i":
            return name
        count, self._unnamed_loops = self._unnamed_loops, self._unnamed_loops + 1
        return "ijk"[count] if count < 3 else f"i_{count - 3}"

    @contextmanager
    def while_loop(self, condition: ExprLike) -> Iterator[None]:
        """Open a loop that runs as long as ``condition``, evaluated before each iteration, holds."""
        with self._block(lambda body: tir.While(convert(condition), body)):
            yield

    @contextmanager
    def if_scope(self, cond: ExprLike) -> Iterator[None]:
        """Open a block that runs where ``cond`` holds."""
        with self._block(lambda body: tir.IfThenElse(convert(cond), body)):
            yield

    @contextmanager
    def else_scope(self) -> Iterator[None]:
        """Open the other branch of the :meth:`if_scope` that was just closed.

        Raises ArgumentError if no ``if_scope`` was closed just before.
        """
        previous = self._blocks[-1][-1] if self._blocks[-1] else None
        if not isinstance(previous, tir.IfThenElse) or previous.else_case is not None:
            raise ArgumentError("else_scope: must follow directly after an if_scope")
        self._blocks[-1].pop()
        with self._block(lambda body: tir.IfThenElse(previous.condition, previous.then_case, body)):
            yield

    @contextmanager
    def new_scope(self) -> Iterator[None]:
        """Open a block of its own: what holds for the rest of a block ends with it."""
        with self._block(lambda body: body):
            yield

    # what holds for the rest of the block

    def scope_attr(self, node: object, attr_key: str, value: ExprLike) -> None:
        """State a fact, e.g. ``thread_extent``, about an axis, pointer or buffer for the rest of the block."""
        fact = StringImm(value) if isinstance(value, str) else convert(value)
        subject = StringImm(node) if isinstance(node, str) else node.data if isinstance(node, Buffer) else node
        self.emit(lambda body: tir.AttrStmt(subject, attr_key, fact, body))

    def let(self, var_name: str, value: ExprLike) -> Var:
        """Bind a value to a variable for the rest of the block."""
        e = convert(value)
        var = Var(var_name, e.dtype)
        self.emit(lambda body: tir.LetStmt(var, e, body))
        return var

    def assert_(self, condition: ExprLike, message: str) -> None:
        """Fail unless a condition holds; else go on with the rest of the block."""
        self.emit(lambda body: tir.AssertStmt(convert(condition), StringImm(message), body))

    def allocate(
        self,
        dtype: str,
        shape: int | PrimExpr | Sequence[ExprLike],
        name: str = "buf",
        scope: str = "global",
        axis_separators: Sequence[int] | None = None,
    ) -> BufferVar:
        """Allocate memory for the rest of the block.

        The shape is in elements, the scope ``global``, ``shared``, ``local`` or the like; ``axis_separators`` are those
        of :func:`~compiler.tir.statements.buffer.decl_buffer`.
        """
        dims = as_exprs(shape)
        buffer = decl_buffer(dims, dtype, name, scope=scope, axis_separators=axis_separators)
        self.emit(lambda body: tir.Allocate(buffer.data, dtype, dims, const(True), body))
        return BufferVar(self, buffer)

    # memory of others

    def pointer(self, content_type: str, name: str = "ptr", scope: str = "global") -> BufferVar:
        """Declare a pointer to elements that the caller of the function provides."""
        data = Var(name, "handle", PointerType(PrimType(content_type), scope))
        return BufferVar(self, Buffer(data, content_type, (Var(f"{name}_size"),), (), const(0), name))

    def buffer_ptr(self, buf: Buffer) -> BufferVar:
        """Read and write a buffer."""
        return BufferVar(self, buf)

    def likely(self, expr: ExprLike) -> PrimExpr:
        """Mark a condition that nearly always holds."""
        return likely(expr)


def _sequence(items: list[Stmt | Callable[[Stmt], Stmt]]) -> Stmt:
    """Put statements in order; a wrapper takes all that follows it."""
    stmts: list[Stmt] = []
    for item in reversed(items):
        if isinstance(item, Stmt):
            stmts.append(item)
        else:
            stmts = [item(seq(reversed(stmts)))]
    return seq(reversed(stmts))
