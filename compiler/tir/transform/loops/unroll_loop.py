"""Loop unrolling."""

from __future__ import annotations

from compiler.arith.analyzer import Analyzer
from compiler.ir.error import LoweringError, show
from compiler.ir.expr.primexpr import Add, IntImm, PrimExpr, Var, const
from compiler.ir.expr.substitute import free_vars, substitute
from compiler.ir.functor import nodes_of
from compiler.ir.module import IRModule
from compiler.ir.node import Node, rebuild
from compiler.ir.origin import inheriting
from compiler.ir.transform import PassContext
from compiler.tir.analysis.features import features
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.block import Block
from compiler.tir.statements.buffer import BufferLoad
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.renewal import RenewDefs
from compiler.tir.statements.stmt import ForKind, Stmt, seq
from compiler.tir.statements.stmt_functor import StmtMutator, statements_of
from compiler.tir.transform.pass_base import PrimFuncPass

MAX_STEPS = 1 << 16
"""Stores and calls that an unrolled loop may be written out as."""
_PRAGMAS = {"pragma_auto_unroll_max_step", "pragma_unroll_explicit"}


class UnrollLoop(PrimFuncPass, configurable=True):
    """Write the iterations of unrolled loops out one after the other.

    A loop marked ``unroll`` disappears: its body is repeated, the loop variable replaced by the number of each
    repetition, so that the processor neither counts nor jumps and the code generator sees all iterations at once::

        for k in T.unroll(2):                 C[i * 2] = A[k0 * 2]
            C[i * 2 + k] = A[k0 * 2 + k]  →   C[i * 2 + 1] = A[k0 * 2 + 1]

    Serial loops are unrolled as well if that leaves at most ``auto_max_step`` steps (stores and calls).  The limit
    comes from the option ``tir.UnrollLoop`` or from ``s[C].pragma(axis, "auto_unroll_max_step", n)``; the pragma
    ``unroll_explicit`` says whether loops are written out here or only marked for the backend.

    ``PassContext(config={"tir.UnrollLoop": {"auto_max_step": 16}})`` sets the options for a whole build.

    Parameters
    ----------
    auto_max_step : int
        Serial loops are unrolled if at most so many steps are left.
    auto_max_depth : int
        How many loops of a nest are unrolled inside of one that is unrolled as well; those around stay loops.
    auto_max_extent : int
        Loops up to this extent are unrolled whatever they contain.
    explicit_unroll : bool
        Whether loops are written out here; otherwise they are marked for the backend.
    unroll_local_access : bool
        Whether loops that index memory of the scopes ``local`` and ``warp`` are unrolled whatever they contain:
        registers have numbers, not addresses.
    """

    auto_max_step: int = 0
    auto_max_depth: int = 8
    auto_max_extent: int = 0
    explicit_unroll: bool = True
    unroll_local_access: bool = False

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        options = self.configured(ctx)
        automatic = options.auto_max_step > 0 or options.auto_max_extent > 0 or options.unroll_local_access
        occurring = features(func)
        if not automatic and ForKind.UNROLLED not in occurring.kinds and not occurring.attrs & _PRAGMAS:
            return func
        local = _indices_of_local_memory(func.body) if options.unroll_local_access else set()
        return func.with_body(_Unroll(options, local).visit(func.body))


def _indices_of_local_memory(body: Stmt) -> set[Var]:
    """Return the variables in the indices of accesses to memory that registers hold."""
    accesses = (n for n in nodes_of(body, BufferLoad, tir.BufferStore) if n.buffer.scope() in ("local", "warp"))
    return {var for n in accesses for var in free_vars(n.indices)}


class _Unroll(StmtMutator):
    """Unrolls from the innermost loop outwards.

    ``steps`` counts the stores and calls that the statement visited last leaves behind, repetitions included;
    ``depth`` the loops unrolled on the deepest way to one of them; ``serial`` tells that a loop remains in it.
    """

    def __init__(self, options: UnrollLoop, local_indices: set[Var]) -> None:
        self.max_step = options.auto_max_step
        self.max_depth = options.auto_max_depth
        self.max_extent = options.auto_max_extent
        self.explicit = options.explicit_unroll
        self.local_indices = local_indices
        self.steps = 0
        self.depth = 0
        self.loops_left = False

    def visit_AttrStmt(self, n: tir.AttrStmt) -> Stmt:
        if n.attr_key == "pragma_auto_unroll_max_step":
            outer, self.max_step = self.max_step, _pragma_int(n)
            body = self.visit(n.body)
            self.max_step = outer
            return body
        if n.attr_key == "pragma_unroll_explicit":
            explicit, self.explicit = self.explicit, bool(_pragma_int(n))
            body = self.visit(n.body)
            self.explicit = explicit
            return body
        body = self.visit(n.body)
        return rebuild(n, body=body)

    def visit_BufferStore(self, n: tir.BufferStore | tir.Evaluate) -> Stmt:
        self.steps += 1
        return n

    visit_Evaluate = visit_BufferStore

    def visit_SeqStmt(self, n: tir.SeqStmt) -> Stmt:
        depth = 0
        new = []
        for stmt in n.seq:
            self.depth = 0
            new.append(self.visit(stmt))
            depth = max(depth, self.depth)
        self.depth = depth
        return n if all(a is b for a, b in zip(new, n.seq, strict=True)) else seq(new)

    def visit_For(self, n: tir.For) -> Stmt:
        outer_steps, self.steps, self.depth = self.steps, 0, 0
        outer_left, self.loops_left = self.loops_left, False
        body = self.visit(n.body)
        loop = rebuild(n, body=body)
        extent = _constant(n.extent)
        if n.kind == ForKind.UNROLLED and extent < 0:
            raise LoweringError(
                f"UnrollLoop: the extent of an unrolled loop must be constant, got {show(n.extent)} "
                f"(loop {n.loop_var.name!r})"
            )
        automatic = (
            n.kind == ForKind.SERIAL
            and extent >= 0
            and not self.loops_left
            and self.depth <= self.max_depth
            and (self.steps * extent <= self.max_step or 0 < extent <= self.max_extent)
        )
        registers = n.kind == ForKind.SERIAL and extent > 0 and n.loop_var in self.local_indices
        trivial = self.max_extent == 1 and 0 <= extent <= 1  # whatever it contains
        result = write_out(loop, extent) if trivial else self._unrolled(loop, extent, automatic or registers)
        self.steps = outer_steps + self.steps * (extent if extent > 0 else 1)
        left = isinstance(result, tir.For) and result.kind != ForKind.UNROLLED
        self.loops_left = outer_left or self.loops_left or left
        return result

    def _unrolled(self, n: tir.For, extent: int, automatic: bool) -> Stmt:
        if n.kind != ForKind.UNROLLED and not automatic:
            return n
        if n.kind == ForKind.UNROLLED and not self.explicit and extent > 0:
            return n
        if automatic and not self.explicit:
            return rebuild(n, kind=ForKind.UNROLLED)
        if self.steps * extent > MAX_STEPS:
            raise LoweringError(
                f"UnrollLoop: loop {n.loop_var.name!r} would be written out as {self.steps * extent:,} statements, at "
                f"most {MAX_STEPS:,} are; unroll fewer loops, or split this one and unroll the inner loop"
            )
        self.depth += 1
        return write_out(n, extent)


def _constant(extent: PrimExpr) -> int:
    """Return the extent of a loop; -1 if it is not constant."""
    value = extent if isinstance(extent, IntImm) else Analyzer().simplify(extent)
    return value.value if isinstance(value, IntImm) else -1


def write_out(n: tir.For, extent: int) -> Stmt:
    """Return the ``extent`` iterations of a loop one after the other."""
    dtype = n.loop_var.dtype
    copies = []
    defining = _defines_memory(n.body)
    for i in range(extent):
        step = const(i, dtype)
        value = step if isinstance(n.min, IntImm) and n.min.value == 0 else _folded_sum(n.min, step)
        with inheriting(n.span):
            copy = substitute(n.body, {n.loop_var: value})
            copies.append(RenewDefs().visit(copy) if i > 0 and defining else copy)
    return seq(copies)


def _defines_memory(body: Stmt) -> bool:
    """Return whether a statement has memory or buffers of its own, of which each copy of it needs others."""
    return any(
        isinstance(n, (tir.Allocate, tir.AllocateConst, tir.DeclBuffer, Block)) for n in statements_of(body, Node)
    )


def _folded_sum(base: PrimExpr, step: PrimExpr) -> PrimExpr:
    if isinstance(base, IntImm) and isinstance(step, IntImm):
        return IntImm(base.dtype, base.value + step.value)
    return Add(base, step)


def _pragma_int(n: tir.AttrStmt) -> int:
    if not isinstance(n.value, IntImm):
        key = n.attr_key.removeprefix("pragma_")
        raise LoweringError(f"pragma: {key} must be a constant int, got {show(n.value)}")
    return n.value.value
