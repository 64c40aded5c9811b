"""Matches a statement with a description, up to buffers and offsets."""

from __future__ import annotations

from collections.abc import Sequence

from compiler.arith import Analyzer
from compiler.ir.expr.primexpr import BinaryOp, PrimExpr, Range, Var, const
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.node import Node, structure
from compiler.ir.structural import structural_equal
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.statements.stmt import BufferStore, For, Stmt


class DescriptionMatcher:
    """Compares a statement of a program with the description of an intrinsic."""

    def __init__(self) -> None:
        self.buffers: dict[Buffer, Buffer] = {}  # which buffer of the program stands for which of the description
        # from which element on, one for each dimension of the program's buffer
        self.offsets: dict[Buffer, tuple[PrimExpr, ...]] = {}
        self.difference = ""  # what is different, if something is
        self._variables: dict[Var, PrimExpr] = {}
        self._own: set[Var] = set()
        self._analyzer = Analyzer()

    def matches(self, stmt: Stmt, description: Stmt) -> bool:
        """Return whether a statement does what is described."""
        if type(stmt) is not type(description):
            return self._differ(f"a {type(stmt).__name__} stands where a {type(description).__name__} is described")
        match stmt, description:
            case For(), For():
                return self._loops(stmt, description)
            case BlockRealize(), BlockRealize():
                return self._realizations(stmt, description)
            case BufferStore(), BufferStore():
                values = self._values(stmt.value, description.value)
                return values and self._accesses(stmt, description)
        return self._parts(stmt, description)

    def _differ(self, difference: str) -> bool:
        self.difference = self.difference or difference
        return False

    def _define(self, own: Var, described: Var, values: Range) -> None:
        self._variables[described] = own
        self._own.add(own)
        self._analyzer.bind(own, values)

    def _equal(self, own: PrimExpr, described: PrimExpr) -> bool:
        return self._analyzer.can_prove_equal(own, substitute(described, self._variables))

    def _loops(self, own: For, described: For) -> bool:
        self._define(own.loop_var, described.loop_var, Range.from_min_extent(own.min, own.extent))
        if own.kind != described.kind or not (self._equal(own.min, described.min)):
            return self._differ(f"loop {own.loop_var.name} is another one than loop {described.loop_var.name}")
        if not self._equal(own.extent, described.extent):
            return self._differ(f"loop {own.loop_var.name} has {own.extent} iterations, not {described.extent}")
        return self.matches(own.body, described.body)

    def _realizations(self, own: BlockRealize, described: BlockRealize) -> bool:
        values = zip(own.iter_values, described.iter_values, strict=False)
        if len(own.iter_values) != len(described.iter_values) or not all(self._equal(a, b) for a, b in values):
            return self._differ(f"the axes of block {own.block.name_hint!r} have other values")
        if not structural_equal(own.predicate, substitute(described.predicate, self._variables)):
            return self._differ(f"block {own.block.name_hint!r} has another condition")
        for axis, other in zip(own.block.iter_vars, described.block.iter_vars, strict=True):
            if axis.iter_type != other.iter_type or not self._domains(axis.dom, other.dom):
                return self._differ(f"axis {axis.var.name!r} is another one than {other.var.name!r}")
            assert axis.dom is not None
            self._define(axis.var, other.var, axis.dom)
        return self.blocks(own.block, described.block)

    def _domains(self, own: Range | None, described: Range | None) -> bool:
        assert own is not None
        assert described is not None
        return self._equal(own.min, described.min) and self._equal(own.extent, described.extent)

    def blocks(self, own: Block, described: Block) -> bool:
        """Return whether a block begins and goes on as described."""
        if (own.init is None) != (described.init is None):
            return self._differ(f"block {own.name_hint!r} and the description do not both set initial values")
        if own.alloc_buffers or own.match_buffers:
            return self._differ(f"block {own.name_hint!r} has buffers of its own")
        return self._part(own.init, described.init) and self.matches(own.body, described.body)

    def _parts(self, own: Node, described: Node) -> bool:
        """Compare what two nodes of a class are made of."""
        names, _ = structure(type(own))
        return all(self._part(getattr(own, name), getattr(described, name)) for name in names)

    def _part(self, own: object, described: object) -> bool:
        if isinstance(own, Stmt) and isinstance(described, Stmt):
            return self.matches(own, described)
        if isinstance(own, PrimExpr) and isinstance(described, PrimExpr):
            return self._values(own, described)
        if isinstance(own, tuple) and isinstance(described, tuple):
            pairs = zip(own, described, strict=False)
            return len(own) == len(described) and all(self._part(a, b) for a, b in pairs)
        return bool(own == described) or self._differ(f"{own} stands where {described} is described")

    def _values(self, own: PrimExpr, described: PrimExpr) -> bool:
        if isinstance(described, Var):
            return self._variables.get(described) is own or self._differ(f"{own} stands for {described}")
        if type(own) is not type(described):
            return self._differ(f"{own} stands where {described} is described")
        if isinstance(own, BufferLoad) and isinstance(described, BufferLoad):
            return self._accesses(own, described)
        if isinstance(own, BinaryOp) and isinstance(described, BinaryOp):
            return self._values(own.a, described.a) and self._values(own.b, described.b)
        return own.dtype == described.dtype and self._parts(own, described)

    def _accesses(self, own: BufferLoad | BufferStore, described: BufferLoad | BufferStore) -> bool:
        """Compare accesses: the elements are the same from the first one on."""
        buffer = self.buffers.setdefault(described.buffer, own.buffer)
        if buffer is not own.buffer or buffer.dtype != described.buffer.dtype:
            return self._differ(f"buffer {own.buffer.name!r} cannot stand for {described.buffer.name!r}")
        offsets = self._offsets(own.indices, described.indices)
        if offsets is None:
            return self._differ(f"the indices of {own.buffer.name!r} are not an offset and those of the description")
        former = self.offsets.setdefault(described.buffer, offsets)
        if not all(self._analyzer.can_prove_equal(a, b) for a, b in zip(former, offsets, strict=True)):
            return self._differ(f"elements of {own.buffer.name!r} are counted from different ones")
        return True

    def _offsets(self, own: Sequence[PrimExpr], described: Sequence[PrimExpr]) -> tuple[PrimExpr, ...] | None:
        leading = len(own) - len(described)
        if leading < 0:
            return None
        inside = [substitute(index, self._variables) for index in described]
        offsets = [*own[:leading], *[a - b for a, b in zip(own[leading:], inside, strict=True)]]
        simplified = tuple([self._analyzer.simplify(offset) for offset in offsets])
        return None if any(var in self._own for offset in simplified for var in free_vars(offset)) else simplified

    def region(self, described: Buffer) -> BufferRegion:
        """Return which part of the program's buffer stands for one of the description."""
        offsets = self.offsets[described]
        leading = len(offsets) - len(described.shape)
        extents = [*[const(1, offset.dtype) for offset in offsets[:leading]], *described.shape]
        sides = [Range.from_fields(offset, extent) for offset, extent in zip(offsets, extents, strict=True)]
        return BufferRegion(self.buffers[described], tuple(sides))
