"""The regions of buffers that statements read and write."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.arith.facts import is_stable
from compiler.arith.integer_region import Region, possible_region
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import EQ, Broadcast, Call, Not, PrimExpr, Ramp, Var, const
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.functor import Visitor
from compiler.ir.node import Node
from compiler.tir.analysis.side_effect import has_effect
from compiler.tir.expressions.op import all as all_of
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.stmt import For, IfThenElse, LetStmt, Stmt


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """A store to elements of a buffer, or a load of them, any of the times that it runs."""

    data: Var
    buffer: Buffer | None  # None for what cannot be seen into: any element may be meant
    indices: tuple[PrimExpr, ...]
    value: PrimExpr  # what is stored, or the load
    region: Region  # where it may run, of `variables` and of others
    variables: tuple[Var, ...] = ()  # the variables of the loops around it, and of its lanes

    def is_to(self, buffer: Buffer) -> bool:
        """Return whether the access is to the memory of a buffer."""
        return self.data is buffer.data

    def elements(self, buffer: Buffer, axes: Sequence[Var]) -> Region:
        """Return the elements that it may be to, and when."""
        if self.buffer is not buffer:
            return Region.everything()
        places = [(axis, index) for axis, index in zip(axes, self.indices, strict=True) if is_stable(index)]
        return self.region & equations([a for a, _ in places], [i for _, i in places])

    def renamed(self, var: Var, other: Var) -> Access:
        """Return the access of another iteration."""
        places: dict[Var, PrimExpr] = {var: other}
        indices, value = substitute(self.indices, places), substitute(self.value, places)
        return replace(self, indices=indices, value=value, region=self.region.substitute(places, unknown=True))


class AxesOf(dict[Buffer, tuple[Var, ...]]):
    """The variables that stand for the indices of buffers, made when a buffer is first asked for."""

    def __missing__(self, buffer: Buffer) -> tuple[Var, ...]:
        self[buffer] = tuple(Var(f"{buffer.name}_{i}", dim.dtype) for i, dim in enumerate(buffer.shape))
        return self[buffer]


def equations(axes: Sequence[PrimExpr], indices: Sequence[PrimExpr]) -> Region:
    """Return where each axis is the index."""
    pairs = zip(axes, indices, strict=True)
    region = Region.everything()
    for axis, index in pairs:
        region = region & possible_region(EQ(axis, index.astype(axis.dtype)))
    return region


def access_of(n: BufferStore | BufferLoad) -> Access:
    """Return the access of a store or a load; a variable stands for the lane if it is of a vector."""
    lanes = max((dt.lanes(index.dtype) for index in n.indices), default=1)
    data, value = n.buffer.data, n.value if isinstance(n, BufferStore) else n
    if any(dt.is_scalable(index.dtype) for index in n.indices):
        return Access(data, None, n.indices, value, Region.everything())
    if lanes == 1:
        return Access(data, n.buffer, n.indices, value, Region.everything())
    lane = Var("lane", "int32")
    region = possible_region(all_of(lane >= 0, lane < lanes))
    indices = tuple(_lane_of(index, lane) for index in n.indices)
    if not all(dt.lanes(e.dtype) == 1 for e in indices):
        return Access(data, None, n.indices, value, region)
    return Access(data, n.buffer, indices, _lane_of(value, lane), region, (lane,))


def _lane_of(e: PrimExpr, lane: Var) -> PrimExpr:
    """Return a lane of a vector, the vector itself if it is not a simple one."""
    if isinstance(e, Ramp):
        return e.base + lane.astype(e.base.dtype) * e.stride
    return e.value if isinstance(e, Broadcast) else e


def writes_of(n: Stmt | PrimExpr) -> list[Access]:
    """Return the writes of a statement or an expression."""
    collect = _Accesses()
    collect.visit(n)
    return collect.writes


def reads_of(n: Stmt | PrimExpr) -> list[Access]:
    """Return the reads of a statement or an expression."""
    collect = _Accesses()
    collect.visit(n)
    return collect.reads


class _Accesses(Visitor):
    def __init__(self) -> None:
        self.writes: list[Access] = []
        self.reads: list[Access] = []
        self._region = Region.everything()
        self._variables: tuple[Var, ...] = ()

    def visit_BufferStore(self, n: BufferStore) -> None:
        self.visit_Node(n)
        self.writes.append(self._here(access_of(n)))

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self.visit_Node(n)
        self.reads.append(self._here(access_of(n)))

    def _here(self, access: Access) -> Access:
        variables = self._variables + access.variables
        return replace(access, region=access.region & self._region, variables=variables)

    def visit_Call(self, n: Call) -> None:
        self.visit_Node(n)
        for var in free_vars(n.args):
            if var.dtype == "handle":
                access = Access(var, None, (), const(0), Region.everything())
                self.reads.append(access)
                if has_effect(n):
                    self.writes.append(access)

    def visit_For(self, n: For) -> None:
        stable = is_stable(n.min) and is_stable(n.extent)
        inside = all_of(n.min <= n.loop_var, n.loop_var < n.min + n.extent) if stable else const(True)
        self._within(inside, n.body, n.loop_var)

    def visit_LetStmt(self, n: LetStmt) -> None:
        self.visit(n.value)
        self._within(EQ(n.var, n.value) if is_stable(n.value) else const(True), n.body, n.var)

    def visit_IfThenElse(self, n: IfThenElse) -> None:
        self.visit(n.condition)
        self._within(n.condition, n.then_case)
        if n.else_case is not None:
            self._within(Not(n.condition), n.else_case)

    def _within(self, condition: PrimExpr, body: Stmt, *variables: Var) -> None:
        outside = self._region, self._variables
        self._region = self._region & possible_region(condition)
        self._variables += variables
        self.visit(body)
        self._region, self._variables = outside

    def _everywhere(self, n: Node) -> None:
        """Take all elements of what is accessed below as accessed."""
        writes, reads = len(self.writes), len(self.reads)
        self.visit_Node(n)
        self.writes[writes:] = [replace(access, buffer=None) for access in self.writes[writes:]]
        self.reads[reads:] = [replace(access, buffer=None) for access in self.reads[reads:]]

    visit_AttrStmt = visit_While = visit_BlockRealize = _everywhere


def iterations(loop: For, var: Var) -> Region:
    """Return the iterations of a loop, as values of a variable."""
    return possible_region(all_of(loop.min <= var, var < loop.min + loop.extent))
