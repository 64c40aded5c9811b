"""The regions that a block reads and writes, inferred from its body."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from types import MappingProxyType

from compiler.arith.analyzer import Analyzer
from compiler.arith.int_set import IntervalSet, IntSet, union
from compiler.arith.interval_arithmetic import eval_set
from compiler.arith.linear.detect_linear_equation import linear_in
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import EQ, GE, GT, LE, LT, And, Call, IntImm, Let, Not, PrimExpr, Range, Var, const
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.functor import Visitor, nodes_of
from compiler.ir.op import Op
from compiler.tir.expressions.builtin import IF_THEN_ELSE
from compiler.tir.statements.block import Block, BlockRealize, MatchBufferRegion
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion, BufferStore
from compiler.tir.statements.stmt import For, IfThenElse, LetStmt, Stmt

Domains = Mapping[Var, IntervalSet]

_LIKELY = "tir.likely"


def domains_where(condition: PrimExpr, domains: Domains, analyzer: Analyzer) -> dict[Var, IntervalSet]:
    """Return the domains of variables where a condition holds.

    For example ``i + j < 4`` with ``i`` and ``j`` from 0 to 7 leaves 0 to 3 for each of them. Comparisons of integers,
    and what ``And`` makes of them, are looked at. Only variables of the condition are returned, with domains that are
    the same or smaller; what it says of two variables together is lost.
    """
    smaller: dict[Var, IntervalSet] = {}
    for e in _not_negative(condition):
        for var in free_vars(e):
            if var in domains:
                smaller[var] = _bounded(smaller.get(var, domains[var]), e, var, domains, analyzer)
    return smaller


def _not_negative(condition: PrimExpr) -> Iterator[PrimExpr]:
    """Yield what is at least zero where the condition holds."""
    match condition:
        case And(a, b):
            yield from _not_negative(a)
            yield from _not_negative(b)
        case Call() if isinstance(condition.op, Op) and condition.op.name == _LIKELY:
            yield from _not_negative(condition.args[0])
        case Not(a):
            yield from _not_negative_otherwise(a)
        case LT(a, b) | GT(b, a) if _is_integer(a):
            yield b - a - 1
        case LE(a, b) | GE(b, a) if _is_integer(a):
            yield b - a
        case EQ(a, b) if _is_integer(a):
            yield b - a
            yield a - b


def _not_negative_otherwise(condition: PrimExpr) -> Iterator[PrimExpr]:
    """Yield what is at least zero where the condition does not hold."""
    match condition:
        case Call() if isinstance(condition.op, Op) and condition.op.name == _LIKELY:
            yield from _not_negative_otherwise(condition.args[0])
        case Not(a):
            yield from _not_negative(a)
        case LT(a, b) | GT(b, a) if _is_integer(a):
            yield a - b
        case LE(a, b) | GE(b, a) if _is_integer(a):
            yield a - b - 1


def _is_integer(e: PrimExpr) -> bool:
    return dt.is_int(e.dtype) and dt.lanes(e.dtype) == 1


def _bounded(domain: IntervalSet, e: PrimExpr, var: Var, domains: Domains, analyzer: Analyzer) -> IntervalSet:
    """Return where a variable can be while ``e`` is at least zero, whatever the other variables are.

    A bound that may lie outside of the domain is left out: it would hide how large the domain is at most.
    """
    linear = linear_in(e, var)
    factor = None if linear is None else analyzer.simplify(linear[0])
    if linear is None or not isinstance(factor, IntImm) or factor.value == 0:
        return domain
    most = eval_set(linear[1], {v: other for v, other in domains.items() if v is not var}, analyzer)
    if not most.has_upper_bound():
        return domain
    if factor.value > 0:
        low = analyzer.simplify(-(most.max_value // factor.value))
        return IntervalSet(low, domain.max_value) if analyzer.can_prove(low >= domain.min_value) else domain
    high = analyzer.simplify(most.max_value // -factor.value)
    return IntervalSet(domain.min_value, high) if analyzer.can_prove(high <= domain.max_value) else domain


Box = tuple[IntervalSet, ...]
_READ, _WRITE = 1, 2
"""The bits of the access mask of ``tvm_access_ptr``."""


def get_block_access_region(block: Block, buffer_var_map: Mapping[Var, Buffer]) -> list[list[BufferRegion]]:
    """Return the elements that a block reads and writes, and the buffers that it uses by their pointers.

    A region is a box: the smallest one that holds what the iterations of all inner loops access, without those for
    which a condition does not hold.  What a block with an initial value reads of the buffers that it writes is its own,
    and left out.  Blocks inside count as what their signatures say. The lists are of regions that are read, that are
    written, and that are accessed in a way that does not show which of both. Only buffers of ``buffer_var_map`` are
    looked at, which has those around the block by their pointers.
    """
    accesses = _Accesses({**buffer_var_map, **{b.data: b for b in block.alloc_buffers}}, block.match_buffers)
    if block.init is not None:
        accesses.visit(block.init)
    accesses.visit(block.body)
    own = set(accesses.writes) if block.init is not None else set()
    local = set(block.alloc_buffers)
    return [
        accesses.regions(accesses.reads, own | local),
        accesses.regions(accesses.writes, local),
        accesses.regions(accesses.opaque, local),
    ]


def get_block_read_write_region(block: Block, buffer_var_map: Mapping[Var, Buffer]) -> list[list[BufferRegion]]:
    """Return the elements that a block reads and writes; what may be either is both.

    ``buffer_var_map`` has the buffers around the block by their pointers.
    """
    reads, writes, opaque = get_block_access_region(block, buffer_var_map)
    for region in opaque:
        for regions in (reads, writes):
            if all(region.buffer is not other.buffer for other in regions):
                regions.append(region)
    return [reads, writes]


def accessed_boxes(
    stmt: Stmt, buffer_var_map: Mapping[Var, Buffer], domains: Mapping[Var, Range]
) -> dict[Buffer, tuple[Range, ...]]:
    """Return the box of elements of each buffer that a statement accesses, whatever its blocks say."""
    accesses = _AllAccesses(buffer_var_map, (), domains)
    accesses.visit(stmt)
    boxes: dict[Buffer, list[Box]] = {}
    for table in (accesses.reads, accesses.writes, accesses.opaque):
        for buffer, parts in table.items():
            boxes.setdefault(buffer, []).extend(parts)
    return {region.buffer: region.region for region in accesses.regions(boxes, ())}


class _Accesses(Visitor):
    """Collects the boxes of elements that statements access, with the variables of inner loops relaxed."""

    def __init__(
        self,
        pointers: Mapping[Var, Buffer],
        matched: Sequence[MatchBufferRegion],
        domains: Mapping[Var, Range] = MappingProxyType({}),
    ) -> None:
        self.reads: dict[Buffer, list[Box]] = {}
        self.writes: dict[Buffer, list[Box]] = {}
        self.opaque: dict[Buffer, list[Box]] = {}
        self._pointers = pointers
        self._matched = {match.buffer: match.source for match in matched}
        self._domains = {var: IntSet.from_range(span) for var, span in domains.items()}
        self._analyzer = Analyzer()

    def regions(self, accesses: Mapping[Buffer, Iterable[Box]], without: Collection[Buffer]) -> list[BufferRegion]:
        """Return a region for each buffer: the box that holds all of its boxes."""
        return [
            BufferRegion(buffer, self._cover(buffer, list(boxes)))
            for buffer, boxes in accesses.items()
            if buffer not in without
        ]

    def _cover(self, buffer: Buffer, boxes: list[Box]) -> tuple[Range, ...]:
        ranges = []
        for position, dim in enumerate(buffer.shape):
            interval = union([box[position] for box in boxes], self._analyzer)
            full = Range.from_fields(const(0, dim.dtype), dim)
            ranges.append(interval.cover_range(full, self._analyzer))
        return tuple(ranges)

    def _access(self, table: dict[Buffer, list[Box]], buffer: Buffer, indices: Iterable[PrimExpr | Range]) -> None:
        if buffer in self._matched or buffer.data in self._pointers:
            self._add(table, buffer, tuple([self._set(i) for i in indices]))

    def _add(self, table: dict[Buffer, list[Box]], buffer: Buffer, box: Box) -> None:
        source = self._matched.get(buffer)
        if source is not None:
            self._add(table, source.buffer, self._box_of_source(source, box))
        elif buffer.data in self._pointers:
            table.setdefault(buffer, []).append(box)

    def _box_of_source(self, source: BufferRegion, box: Box) -> Box:
        """Return where a box of a matched buffer lies in the buffer that it stands for."""
        leading = len(source.region) - len(box)
        first = tuple(self._set(r) for r in source.region[:leading])
        rest = [self._shifted(part, r.min) for part, r in zip(box, source.region[leading:], strict=True)]
        return (*first, *rest)

    def _shifted(self, interval: IntervalSet, offset: PrimExpr) -> IntervalSet:
        if not interval.is_bounded():
            return interval
        simplify = self._analyzer.simplify
        low = simplify(interval.min_value + offset)
        if interval.is_single_point():
            return IntervalSet(low, low)
        return IntervalSet(low, simplify(interval.max_value + offset))

    def _set(self, index: PrimExpr | Range) -> IntervalSet:
        if isinstance(index, PrimExpr) and _depends_on_memory(index):
            return IntSet.everything()
        if not any(var in self._domains for var in free_vars(index)):
            return IntSet.vector(index) if isinstance(index, PrimExpr) else IntSet.from_range(index)
        return eval_set(index, self._domains, self._analyzer)

    def _full(self, table: dict[Buffer, list[Box]], buffer: Buffer) -> None:
        self._access(table, buffer, [Range.from_fields(const(0, d.dtype), d) for d in buffer.shape])

    # the walk

    def visit_For(self, n: For) -> None:
        self.visit(n.min)
        self.visit(n.extent)
        self._domains[n.loop_var] = IntSet.from_range(Range.from_fields(n.min, n.extent))
        self.visit(n.body)
        del self._domains[n.loop_var]

    def _let(self, n: LetStmt | Let) -> None:
        self.visit(n.value)
        self._domains[n.var] = self._set(n.value)
        self.visit(n.body)
        del self._domains[n.var]

    visit_LetStmt = visit_Let = _let

    @contextmanager
    def _where(self, condition: PrimExpr) -> Iterator[None]:
        """Let variables have the domains that they have where a condition holds."""
        outer = self._domains
        self._domains = outer | domains_where(condition, outer, self._analyzer)
        yield
        self._domains = outer

    def _choose(self, condition: PrimExpr, then: PrimExpr | Stmt, otherwise: PrimExpr | Stmt | None) -> None:
        self.visit(condition)
        with self._where(condition):
            self.visit(then)
        if otherwise is not None:
            with self._where(Not(condition)):
                self.visit(otherwise)

    def visit_IfThenElse(self, n: IfThenElse) -> None:
        self._choose(n.condition, n.then_case, n.else_case)

    def visit_BufferLoad(self, n: BufferLoad) -> None:
        self._access(self.reads, n.buffer, n.indices)
        self._visit_all(n.indices)

    def visit_BufferStore(self, n: BufferStore) -> None:
        self._access(self.writes, n.buffer, n.indices)
        self.visit(n.value)
        self._visit_all(n.indices)

    def visit_BlockRealize(self, n: BlockRealize) -> None:
        """Take what the signature of an inner block says, with the values of its axes."""
        self._visit_all(n.iter_values)
        self.visit(n.predicate)
        values = {axis.var: value for axis, value in zip(n.block.iter_vars, n.iter_values, strict=True)}
        for table, regions in ((self.reads, n.block.reads), (self.writes, n.block.writes)):
            for region in regions:
                self._access(table, region.buffer, substitute(region.region, values))

    def visit_Call(self, n: Call) -> None:
        if n.op is IF_THEN_ELSE:
            self._choose(*n.args)
            return
        if (
            isinstance(n.op, Op)
            and n.op.name == "tir.tvm_access_ptr"
            and isinstance(n.args[1], Var)
            and n.args[1] in self._pointers
        ):
            buffer, mask = self._pointers[n.args[1]], n.args[4]
            bits = mask.value if isinstance(mask, IntImm) else _READ | _WRITE
            for bit, table in ((_READ, self.reads), (_WRITE, self.writes)):
                if bits & bit:
                    self._full(table, buffer)
            self._visit_all(n.args[2:])
            return
        self._visit_all(n.args)

    def visit_Var(self, n: Var) -> None:
        for matched, source in self._matched.items():
            if matched.data is n:
                self._add(self.opaque, source.buffer, tuple([self._set(r) for r in source.region]))
                return
        buffer = self._pointers.get(n)
        if buffer is not None:
            self._full(self.opaque, buffer)

    def _visit_all(self, items: Iterable[PrimExpr]) -> None:
        for item in items:
            self.visit(item)


class _AllAccesses(_Accesses):
    """Looks into blocks; their signatures count for the buffers that they use by their pointers alone."""

    _declared: Mapping[Var, list[BufferRegion]] = MappingProxyType({})

    def visit_BlockRealize(self, n: BlockRealize) -> None:
        self.visit(n.predicate)
        around = self._declared
        declared: dict[Var, list[BufferRegion]] = {}
        for region in (*n.block.reads, *n.block.writes):
            declared.setdefault(region.buffer.data, []).append(region)
        self._declared = declared
        with self._where(n.predicate):
            self._look_into(n)
        self._declared = around

    def visit_Var(self, n: Var) -> None:
        regions = self._declared.get(n)
        if not regions or n not in self._pointers:
            super().visit_Var(n)
        for region in regions or ():
            self._first_rows(region)

    def _first_rows(self, region: BufferRegion) -> None:
        """Add what is reached through a pointer: whole rows, from the first one on."""
        rows, shape = region.region[0], region.buffer.shape
        last = self._set(rows).max_value
        whole = [self._set(Range.from_fields(const(0, dim.dtype), dim)) for dim in shape[1:]]
        self._add(self.opaque, region.buffer, (IntervalSet(const(0, shape[0].dtype), last), *whole))

    def _look_into(self, n: BlockRealize) -> None:
        for match in n.block.match_buffers:
            self._matched[match.buffer] = match.source
            self._access(self.reads, match.source.buffer, match.source.region)
        for stmt in (n.block.init, n.block.body):
            if stmt is not None:
                self.visit(stmt)


def _depends_on_memory(index: PrimExpr) -> bool:
    return next(nodes_of(index, BufferLoad), None) is not None
