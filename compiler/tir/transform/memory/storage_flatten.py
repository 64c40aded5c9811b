"""Storage flattening: multi-dimensional buffers become flat allocations."""

from __future__ import annotations

from compiler.arith.analyzer import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.error import LoweringError, show
from compiler.ir.expr.primexpr import Call, Cast, IntImm, PrimExpr, Range, Var, cast, const, is_const_int
from compiler.ir.node import rebuild
from compiler.tir.analysis.features import features
from compiler.tir.expressions.builtin import ADDRESS_OF, PREFETCH
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.buffer import Buffer, BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.producer_stmt import BufferRealize, Prefetch
from compiler.tir.statements.stmt import REALIZE_SCOPE, Stmt, seq
from compiler.tir.statements.stmt_functor import StmtExprMutator
from compiler.tir.transform.memory.flat_memory import FlatMemory, align_strides
from compiler.tir.transform.memory.grouped_memory import GroupedMemory, compact_parameters
from compiler.tir.transform.pass_base import FunctionRewrite


class StorageFlatten(FunctionRewrite):
    """Lay multi-dimensional buffers out as rows of elements and allocate the memory of those that live inside.

    A realised region becomes an allocation of just that region's size, and each access one linear index, computed
    with the strides of the rows and counted from where the region begins::

        T.realize(C_global[m * 32:m * 32 + 32, 0:32])        C_global = T.allocate([1024], "float32", "global")
        for i, j in T.grid(32, 32):                     →    for i, j in T.grid(32, 32):
            C_global[m * 32 + i, j] = 0.0                        C_global_1[i * 32 + j] = 0.0

    The parameters keep their shapes in the signature; inside, an alias of one dimension on the same pointer is used,
    or of one dimension for each group where a parameter has axis separators.
    Functions that were not lowered from a schedule of tensor expressions, and realise no regions, are left to
    ``FlattenBuffer``.  ``storage_align`` shows here as strides longer than the row.

    Parameters
    ----------
    cache_line_size : int
        In bytes; how far apart the prefetches of a region are.
    create_bound_attribute : bool
        Mark each store with the size of its buffer, for ``InstrumentBoundCheckers``.
    """

    cache_line_size: int = 64
    create_bound_attribute: bool = False

    def rewrite(self, func: PrimFunc) -> PrimFunc:
        if not func.is_from_schedule and BufferRealize not in features(func).nodes:
            return func
        params = set(func.buffer_map.values())
        memory = GroupedMemory(Analyzer(), only=() if self.create_bound_attribute else compact_parameters(func))
        flattener = _StorageFlattener(memory, params, self.cache_line_size, self.create_bound_attribute)
        return func.with_body(flattener.visit(func.body))


class _StorageFlattener(StmtExprMutator):
    def __init__(self, memory: FlatMemory, params: set[Buffer], cache_line_size: int, bounds: bool) -> None:
        self._memory = memory
        self._params = params
        self._cache_line_size = cache_line_size
        self._bounds = bounds
        self._align: dict[Var | Buffer, dict[int, tuple[int, int]]] = {}

    def visit_Var(self, n: Var) -> PrimExpr:
        return self._memory.value(n)

    def visit_BufferRealize(self, n: BufferRealize) -> Stmt:
        if n.buffer in self._params:
            return self.visit(n.body)
        begin = tuple([self.visit(r.min) for r in n.bounds])
        shape = tuple([self._memory.simplify(self.visit(r.extent)) for r in n.bounds])
        strides = align_strides(shape, self._align.get(n.buffer) or self._align.get(n.buffer.data) or {})
        flat = self._memory.realize(n.buffer, begin, shape, strides)
        body = self.visit(n.body)
        return tir.Allocate(flat.data, flat.dtype, flat.shape, n.condition, body)

    def visit_AttrStmt(self, n: tir.AttrStmt) -> Stmt:
        if n.attr_key == "buffer_dim_align":
            self._note_alignment(n)
            return self.visit(n.body)
        if n.attr_key == REALIZE_SCOPE:
            return self.visit(n.body)  # the pointer's type says it
        if n.attr_key == "buffer_bind_scope":
            return self._bind(n)
        body, value = self.visit(n.body), self.visit(n.value)
        subject = n.node.data if isinstance(n.node, Buffer) else n.node
        if isinstance(subject, Var):
            subject = self._memory.pointer(subject)
        return rebuild(n, node=subject, value=value, body=body)

    def _bind(self, n: tir.AttrStmt) -> Stmt:
        """Let a buffer stand for a region of another one in a statement."""
        buffer, target = n.node
        assert isinstance(n.value, Call)
        box = [self.visit(e) for e in n.value.args]
        self._memory.bind(buffer, target, tuple(box[::2]), tuple(box[1::2]))
        return self.visit(n.body)

    def _note_alignment(self, n: tir.AttrStmt) -> None:
        args = n.value.args if isinstance(n.value, Call) else ()
        numbers = [a.value for a in args if isinstance(a, IntImm)]
        if len(numbers) != 3:
            raise LoweringError(f"storage_align: expected axis, factor and offset as constants, got {show(n.value)}")
        axis, factor, offset = numbers
        self._align.setdefault(n.node, {})[axis] = (factor, offset)

    def visit_BufferLoad(self, n: BufferLoad) -> PrimExpr:
        return self._memory.load(n, self._visit_tuple(n.indices))

    def visit_BufferStore(self, n: tir.BufferStore) -> Stmt:
        store = self._memory.store(n, self.visit(n.value), self._visit_tuple(n.indices))
        if not self._bounds:
            return store
        return tir.AttrStmt(store.buffer.data, "buffer_bound", store.buffer.shape[0], store)

    def visit_DeclBuffer(self, n: tir.DeclBuffer) -> Stmt:
        return self.visit(n.body)

    def visit_Prefetch(self, n: Prefetch) -> Stmt:
        """Touch each cache line of the region once."""
        bounds = [Range.from_min_extent(self.visit(r.min), self.visit(r.extent)) for r in n.bounds]
        loops: list[tuple[Var, PrimExpr]] = []
        indices = []
        steps = self._steps_of_lines(n.buffer, bounds)
        for axis, (bound, step) in enumerate(zip(bounds, steps, strict=True)):
            if step is None:
                indices.append(bound.min)
                continue
            var = Var(f"prefetch.{n.buffer.name}.{axis}", bound.min.dtype)
            loops.append((var, self._memory.simplify((bound.extent + (step - 1)) // step)))
            indices.append(bound.min + var * step)
        element = self._memory.load(BufferLoad(n.buffer, tuple(indices)), tuple(indices))
        address = Call("handle", ADDRESS_OF, (element.value if isinstance(element, Cast) else element,))
        hint = tuple(const(number, "int32") for number in (0, 3, 1))
        body: Stmt = tir.Evaluate(Call("void", PREFETCH, (address, *hint)))
        for var, extent in reversed(loops):
            body = tir.For(var, cast(var.dtype, 0), extent, tir.ForKind.SERIAL, body)
        return seq([body])

    def _steps_of_lines(self, buffer: Buffer, bounds: list[Range]) -> list[int | None]:
        """Return how far the cache lines of a region are apart along each dimension; None for those within a line."""
        steps: list[int | None] = [1] * len(bounds)
        line = max(1, self._cache_line_size // dt.storage_bytes(buffer.dtype))
        for axis in reversed(range(len(bounds))):
            extent, dim = bounds[axis].extent, buffer.shape[axis]
            full = extent.value if isinstance(extent, IntImm) and is_const_int(dim, extent.value) else None
            if axis and full is not None and full < line:
                steps[axis] = None
                line //= full
                continue
            steps[axis] = line
            break
        return steps
