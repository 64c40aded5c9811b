"""Scalarisation: vectors as loops over lanes, for languages without vectors."""

from __future__ import annotations

from collections.abc import Callable

from compiler.arith.analyzer import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.error import BuildError
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import PrimExpr, Var, cast, const, is_const_int
from compiler.ir.expr.substitute import substitute
from compiler.ir.functor import Mutator, Visitor, nodes_of
from compiler.ir.node import Node, rebuild
from compiler.ir.structural import structural_equal
from compiler.ir.types import PointerType, PrimType
from compiler.target.codegen.source.device import VectorRules
from compiler.tir.expressions import builtin
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import BufferStore, Stmt


def without_vectors(stmt: Stmt, vectors: VectorRules | None = None) -> Stmt:
    """Scalarise a statement, computing vectors lane by lane.

    Available vector accesses remain as copies between memory and local arrays of lanes.  ::

        C[T.Ramp(i * 4, 1, 4)] = A[T.Ramp(i * 4, 1, 4)] + T.Broadcast(x, 4)
        →
        for lane in range(4):
            C[i * 4 + lane] = A[i * 4 + lane] + x
    """
    result: Stmt = _Lanes(vectors).visit(_Elements().visit(stmt))
    return result


class _Elements(Mutator):
    """Makes arrays of elements of those of vectors, each of whose accesses is then of several elements side by side."""

    def __init__(self) -> None:
        self._views: dict[Buffer, Buffer] = {}

    def visit_Allocate(self, n: tir.Allocate) -> Stmt:
        if (count := dt.lanes(n.dtype)) == 1:
            return self.visit_Node(n)
        return rebuild(n, dtype=dt.element(n.dtype), extents=(*n.extents, const(count)), body=self.visit(n.body))

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        buffer, indices = self._side_by_side(n)
        return rebuild(n, buffer=buffer, indices=indices)

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        buffer, indices = self._side_by_side(n)
        return rebuild(n, buffer=buffer, indices=indices, value=self.visit(n.value))

    def _side_by_side(self, n: BufferLoad | BufferStore) -> tuple[Buffer, tuple[PrimExpr, ...]]:
        buffer, indices, count = n.buffer, tuple(self.visit(i) for i in n.indices), dt.lanes(n.buffer.dtype)
        if count == 1:
            return buffer, indices
        if len(indices) != 1 or dt.lanes(indices[0].dtype) != 1:
            raise BuildError(f"code generation: {buffer.name} of vectors is accessed by several indices at once")
        if buffer not in self._views:
            shape = (buffer.shape[0] * count,)
            self._views[buffer] = decl_buffer(shape, dt.element(buffer.dtype), buffer.name, data=buffer.data)
        return self._views[buffer], (expr.Ramp(indices[0] * count, const(1, indices[0].dtype), count),)


def _check_fixed(n: BufferLoad | BufferStore, dtype: str) -> None:
    """Raise an error for predicates and scalable vectors."""
    if n.predicate is not None or dt.is_scalable(dtype):
        raise BuildError(f"code generation: accesses with predicates and scalable vectors need LLVM, got {n}")


class _Lanes(Mutator):
    """Rewrites statements; :meth:`lane` selects the lane of an expression."""

    def __init__(self, vectors: VectorRules | None) -> None:
        self._rules = vectors
        self._vectors: dict[Var, Buffer] = {}
        self._rows: dict[Node, Buffer] = {}

    # statements

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        _check_fixed(n, n.dtype)
        return self.visit_Node(n)

    def visit_BufferStore(self, n: BufferStore) -> Stmt:
        count = dt.lanes(n.value.dtype)
        _check_fixed(n, n.value.dtype)
        if count == 1:
            return self._guarded(n, None, rebuild(n, value=self.visit(n.value), indices=self._all(n.indices)))
        if self._rules is not None and self._rules.type_of(n.value.dtype) and (at_once := self._at_once(n)) is not None:
            return at_once
        if _reads_elsewhere(n):
            return self._through_copy(n, count)
        lane = Var("lane", "int32")
        stored = BufferStore(n.buffer, self.lane(n.value, lane), self._lanes_of(n.indices, lane))
        return _over_lanes(lane, count, self._guarded(n, lane, stored))

    def _at_once(self, n: BufferStore) -> Stmt | None:
        """Return a store by vector accesses; None if the elements are not contiguous.

        ::

            C[T.Ramp(i * 4, 1, 4)] = A[T.Ramp(i * 4, 1, 4)] + x
            →
            A_row[T.Ramp(0, 1, 4)] = A[T.Ramp(i * 4, 1, 4)]
            for lane in T.unroll(4):
                C_row[lane] = A_row[lane] + x
            C[T.Ramp(i * 4, 1, 4)] = C_row[T.Ramp(0, 1, 4)]
        """
        assert self._rules is not None
        if not is_side_by_side(n):
            return None
        if isinstance(n.value, BufferLoad) and is_side_by_side(n.value) and n.value.buffer.dtype == n.buffer.dtype:
            return n
        loads = [load for load in _unconditional_loads(n.value) if self._rules.type_of(load.dtype)]
        rows = {load: _row(f"{load.buffer.name}_row", load.dtype) for load in loads}
        for load, row in rows.items():
            self._rows[load] = row
        result, lane = _row(f"{n.buffer.name}_row", n.value.dtype), Var("lane", "int32")
        computed = BufferStore(result, self.lane(n.value, lane), (lane,))
        loop = tir.For(lane, const(0), const(dt.lanes(n.value.dtype)), tir.ForKind.UNROLLED, computed)
        reads = [BufferStore(row, load, (_all_lanes(load.dtype),)) for load, row in rows.items()]
        written = rebuild(n, value=BufferLoad(result, (_all_lanes(n.value.dtype),)))
        body: Stmt = tir.SeqStmt((*reads, loop, written))
        for row in (result, *rows.values()):
            body = tir.Allocate(row.data, row.dtype, row.shape, const(True), body)
        return body

    def _guarded(self, n: BufferStore, lane: PrimExpr | None, store: Stmt) -> Stmt:
        condition = _condition(n)
        if condition is None:
            return store
        return tir.IfThenElse(condition if lane is None else self.lane(condition, lane), store)

    def _through_copy(self, n: BufferStore, count: int) -> Stmt:
        """Store a value that reads other elements of the same memory: compute all lanes first."""
        copy = _row("lanes", n.value.dtype)
        read, write = Var("lane", "int32"), Var("lane", "int32")
        store = BufferStore(n.buffer, BufferLoad(copy, (write,)), self._lanes_of(n.indices, write))
        stored = self._guarded(n, write, store)
        body = tir.SeqStmt(
            (
                _over_lanes(read, count, BufferStore(copy, self.lane(n.value, read), (read,))),
                _over_lanes(write, count, stored),
            )
        )
        return tir.Allocate(copy.data, copy.dtype, (const(count),), const(True), body)

    def visit_LetStmt(self, n: tir.LetStmt) -> Stmt:
        count = dt.lanes(n.var.dtype)
        if count == 1:
            return rebuild(n, value=self.visit(n.value), body=self.visit(n.body))
        row = self._vectors[n.var] = _row(n.var.name, n.var.dtype)
        lane = Var("lane", "int32")
        filled = _over_lanes(lane, count, BufferStore(row, self.lane(n.value, lane), (lane,)))
        return tir.Allocate(
            row.data, row.dtype, (const(count),), const(True), tir.SeqStmt((filled, self.visit(n.body)))
        )

    def visit_Evaluate(self, n: tir.Evaluate) -> Stmt:
        count = dt.lanes(n.value.dtype)
        if count == 1:
            return rebuild(n, value=self.visit(n.value))
        lane = Var("lane", "int32")
        return _over_lanes(lane, count, tir.Evaluate(self.lane(n.value, lane)))

    # scalar expressions

    def _all(self, items: tuple[PrimExpr, ...]) -> tuple[PrimExpr, ...]:
        return tuple(self.visit(e) for e in items)

    def visit_Shuffle(self, n: expr.Shuffle) -> PrimExpr:
        return self._picked(n, n.indices[0]) if len(n.indices) == 1 else n

    # one lane of a vector

    def lane(self, e: PrimExpr, lane: PrimExpr) -> PrimExpr:
        """Return one lane of a vector, or a scalar unchanged."""
        if dt.lanes(e.dtype) == 1:
            scalar: PrimExpr = self.visit(e)
            return scalar
        rule: Callable[[PrimExpr, PrimExpr], PrimExpr] | None = getattr(self, f"_lane_of_{type(e).__name__}", None)
        if rule is not None:
            return rule(e, lane)
        changes = {name: self.lane(getattr(e, name), lane) for name in e.children}
        return rebuild(e, **changes)

    def _lane_of_Ramp(self, e: expr.Ramp, lane: PrimExpr) -> PrimExpr:
        count = dt.lanes(e.base.dtype)
        if count > 1:
            step, within = lane // count, lane % count
            return self.lane(e.base, within) + self.lane(e.stride, within) * step
        base: PrimExpr = self.visit(e.base)
        stride: PrimExpr = self.visit(e.stride)
        return base + stride * cast(e.base.dtype, lane)

    def _lane_of_Broadcast(self, e: expr.Broadcast, lane: PrimExpr) -> PrimExpr:
        count = dt.lanes(e.value.dtype)
        return self.lane(e.value, lane % count if count > 1 else lane)

    def _lane_of_Var(self, e: Var, lane: PrimExpr) -> PrimExpr:
        return BufferLoad(self._vectors[e], (lane,))

    def _lane_of_Cast(self, e: expr.Cast, lane: PrimExpr) -> PrimExpr:
        return expr.Cast(dt.element(e.dtype), self.lane(e.value, lane))

    def _lane_of_Let(self, e: expr.Let, lane: PrimExpr) -> PrimExpr:
        return self.lane(substitute(e.body, {e.var: e.value}), lane)

    def _lane_of_Shuffle(self, e: expr.Shuffle, lane: PrimExpr) -> PrimExpr:
        result = self._picked(e, e.indices[-1])
        for number in reversed(range(len(e.indices) - 1)):
            result = expr.Select(lane.equal(number), self._picked(e, e.indices[number]), result)
        return result

    def _picked(self, e: expr.Shuffle, index: PrimExpr) -> PrimExpr:
        """Return the lane with a constant index in the concatenation of several vectors."""
        if not isinstance(index, expr.IntImm):
            raise BuildError(f"code generation: a shuffle must select lanes by constants, got {index}")
        number = index.value
        for vector in e.vectors:
            if number < dt.lanes(vector.dtype):
                return self.lane(vector, const(number))
            number -= dt.lanes(vector.dtype)
        raise BuildError(f"code generation: a shuffle selects lane {index}, which its vectors do not have")

    def _lane_of_BufferLoad(self, e: BufferLoad, lane: PrimExpr) -> PrimExpr:
        _check_fixed(e, e.dtype)
        if e in self._rows:
            return BufferLoad(self._rows[e], (lane,))
        load = BufferLoad(e.buffer, self._lanes_of(e.indices, lane))
        condition = _condition(e)
        if condition is None:
            return load
        chosen = (self.lane(condition, lane), load, const(0, load.dtype))
        return expr.Call(load.dtype, builtin.IF_THEN_ELSE, chosen)

    def _lane_of_Call(self, e: expr.Call, lane: PrimExpr) -> PrimExpr:
        count, dtype = dt.lanes(e.dtype), dt.element(e.dtype)
        if e.op is builtin.VECTOR_LOW or e.op is builtin.VECTOR_HIGH:
            return self.lane(e.args[0], lane + (count if e.op is builtin.VECTOR_HIGH else 0))
        if e.op is builtin.VECTOR_COMBINE:
            half = count // 2
            upper = self.lane(e.args[1], lane - half)
            return expr.Call(dtype, builtin.IF_THEN_ELSE, (lane < half, self.lane(e.args[0], lane), upper))
        if any(dt.lanes(a.dtype) not in (1, count) for a in e.args):
            raise BuildError(f"code generation: {e} mixes vectors of different lengths")
        return expr.Call(dtype, e.op, tuple(self.lane(a, lane) for a in e.args))

    def _lanes_of(self, indices: tuple[PrimExpr, ...], lane: PrimExpr) -> tuple[PrimExpr, ...]:
        return tuple(self.lane(i, lane) for i in indices)


def _condition(n: BufferLoad | BufferStore) -> PrimExpr | None:
    """Return the condition of an access; None if it is unconditional."""
    condition = n.predicate
    lane = condition.value if isinstance(condition, expr.Broadcast) else condition
    return None if lane is None or is_const_int(lane, 1) else condition


def is_side_by_side(n: BufferLoad | BufferStore) -> bool:
    """Return whether an access is a contiguous vector, aligned to its number of lanes."""
    index, buffer = n.indices[0], n.buffer
    plain = len(n.indices) == 1 and _condition(n) is None and not buffer.strides
    if (
        not plain
        or not isinstance(index, expr.Ramp)
        or not is_const_int(index.stride, 1)
        or dt.lanes(index.base.dtype) > 1
    ):
        return False
    lanes, start = dt.lanes(index.dtype), Analyzer().modular_set(index.base + buffer.elem_offset)
    return start.coeff % lanes == 0 and start.base % lanes == 0


def _unconditional_loads(e: PrimExpr) -> list[BufferLoad]:
    """Return the contiguous vector loads that an expression executes unconditionally."""
    loads = _Loads()
    loads.visit(e)
    return loads.loads


class _Loads(Visitor):
    def __init__(self) -> None:
        self.loads: list[BufferLoad] = []

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        if is_side_by_side(n):
            self.loads.append(n)

    def visit_Call(self, n: expr.Call) -> None:
        if n.op is not builtin.IF_THEN_ELSE:
            self.visit_Node(n)

    def visit_Let(self, n: expr.Let) -> None:
        """Skip the body, as the variable is not in scope where the loads are moved to."""

    def visit_Var(self, n: Node) -> None:
        """A variable reads nothing."""


def _all_lanes(dtype: str) -> expr.Ramp:
    return expr.Ramp(const(0), const(1), dt.lanes(dtype))


def _over_lanes(lane: Var, count: int, body: Stmt) -> Stmt:
    return tir.For(lane, const(0), const(count), tir.ForKind.SERIAL, body)


def _row(name: str, dtype: str) -> Buffer:
    """Return a local buffer for the lanes of a vector."""
    element = dt.element(dtype)
    data = Var(name, "handle", PointerType(PrimType(element), "local"))
    return decl_buffer((dt.lanes(dtype),), element, name, data=data, scope="local")


def _reads_elsewhere(n: BufferStore) -> bool:
    """Return whether the value of a store may read other elements of the memory that it writes."""
    loads = (load for load in nodes_of(n.value, BufferLoad) if load.buffer.data is n.buffer.data)
    return not all(structural_equal(load.indices, n.indices) for load in loads)
