"""Which elements of buffers statements write, as regions of indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from compiler.arith.facts import is_stable
from compiler.arith.integer_region import Region, possible_region
from compiler.ir import dtype as dt
from compiler.ir.functor import Visitor
from compiler.ir.node import Node
from compiler.ir.primexpr import EQ, Broadcast, Call, Not, PrimExpr, Ramp, Var, const
from compiler.ir.substitute import free_vars, substitute
from compiler.tir.analysis.side_effect import has_effect
from compiler.tir.buffer import Buffer, BufferStore
from compiler.tir.op import all as all_of
from compiler.tir.stmt import AttrStmt, BlockRealize, For, IfThenElse, LetStmt, Stmt, While

__all__ = ["Write", "equations", "writes_of", "written_by"]


@dataclass(frozen=True, slots=True, eq=False)
class Write:
    """A store to elements of a buffer, any of the times that it runs.

    Attributes
    ----------
    data : Var
        The memory.
    buffer : Buffer or None
        None for what cannot be seen into: any element may change.
    indices : tuple of PrimExpr
    value : PrimExpr
    region : Region
        Where it may run, of ``variables`` and of others.
    variables : tuple of Var
        The variables of the loops around it, and of its lanes.
    """

    data: Var
    buffer: Buffer | None
    indices: tuple[PrimExpr, ...]
    value: PrimExpr
    region: Region
    variables: tuple[Var, ...] = ()

    def may_change(self, buffer: Buffer) -> bool:
        """Return whether the write is to the memory of a buffer.

        Parameters
        ----------
        buffer : Buffer

        Returns
        -------
        bool
        """
        return self.data is buffer.data

    def elements(self, buffer: Buffer, axes: Sequence[Var]) -> Region:
        """Return the elements that may change, and when.

        Parameters
        ----------
        buffer : Buffer
            A view of the memory.
        axes : sequence of Var
            Stand for the indices.

        Returns
        -------
        Region
        """
        if self.buffer is not buffer:
            return Region.everything()
        places = [(axis, index) for axis, index in zip(axes, self.indices, strict=True) if is_stable(index)]
        return self.region & equations([a for a, _ in places], [i for _, i in places])

    def renamed(self, var: Var, other: Var) -> Write:
        """Return the write of another iteration.

        Parameters
        ----------
        var : Var
            The variable of the loop.
        other : Var
            Stands for it in the other iteration.

        Returns
        -------
        Write
        """
        places: dict[Var, PrimExpr] = {var: other}
        indices, value = substitute(self.indices, places), substitute(self.value, places)
        return replace(self, indices=indices, value=value, region=self.region.substitute(places, unknown=True))


def equations(axes: Sequence[PrimExpr], indices: Sequence[PrimExpr]) -> Region:
    """Return where each axis is the index.

    Parameters
    ----------
    axes, indices : sequence of PrimExpr

    Returns
    -------
    Region
    """
    pairs = zip(axes, indices, strict=True)
    region = Region.everything()
    for axis, index in pairs:
        region = region & possible_region(EQ(axis, index.astype(axis.dtype)))
    return region


def written_by(store: BufferStore) -> list[Write]:
    """Return the writes of a store, one whose variable stands for the lane if it is of a vector.

    Parameters
    ----------
    store : BufferStore

    Returns
    -------
    list of Write
    """
    lanes = max((dt.lanes(index.dtype) for index in store.indices), default=1)
    data = store.buffer.data
    if lanes == 1:
        return [Write(data, store.buffer, store.indices, store.value, Region.everything())]
    lane = Var("lane", "int32")
    region = possible_region(all_of(lane >= 0, lane < lanes))
    indices = tuple(_lane_of(index, lane) for index in store.indices)
    value = _lane_of(store.value, lane)
    if not all(dt.lanes(e.dtype) == 1 for e in indices):
        return [Write(data, None, store.indices, store.value, region)]
    return [Write(data, store.buffer, indices, value, region, (lane,))]


def _lane_of(e: PrimExpr, lane: Var) -> PrimExpr:
    """Return a lane of a vector, the vector itself if it is no simple one."""
    if isinstance(e, Ramp):
        return e.base + lane.astype(e.base.dtype) * e.stride
    return e.value if isinstance(e, Broadcast) else e


def writes_of(n: Stmt | PrimExpr) -> list[Write]:
    """Return the writes of a statement or an expression.

    Parameters
    ----------
    n : Stmt or PrimExpr

    Returns
    -------
    list of Write
    """
    collect = _Writes()
    collect.visit(n)
    return collect.writes


class _Writes(Visitor):
    def __init__(self) -> None:
        self.writes: list[Write] = []
        self._region = Region.everything()
        self._variables: tuple[Var, ...] = ()

    def visit_BufferStore(self, n: BufferStore) -> None:
        self.visit_Node(n)
        for write in written_by(n):
            variables = self._variables + write.variables
            self.writes.append(replace(write, region=write.region & self._region, variables=variables))

    def visit_Call(self, n: Call) -> None:
        self.visit_Node(n)
        if has_effect(n):
            for var in free_vars(n):
                if var.dtype == "handle":
                    self.writes.append(Write(var, None, (), const(0), Region.everything()))

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

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        self._everywhere(n)

    def visit_While(self, n: While) -> None:
        self._everywhere(n)

    def visit_BlockRealize(self, n: BlockRealize) -> None:
        self._everywhere(n)

    def _within(self, condition: PrimExpr, body: Stmt, *variables: Var) -> None:
        outside = self._region, self._variables
        self._region = self._region & possible_region(condition)
        self._variables += variables
        self.visit(body)
        self._region, self._variables = outside

    def _everywhere(self, n: Node) -> None:
        """Take all elements of what is written below as written."""
        before = len(self.writes)
        self.visit_Node(n)
        self.writes[before:] = [replace(write, buffer=None) for write in self.writes[before:]]
