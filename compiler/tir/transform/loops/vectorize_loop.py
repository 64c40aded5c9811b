"""Loop vectorisation."""

from __future__ import annotations

from compiler.ir import dtype as dt
from compiler.ir.error import InternalError, LoweringError, show
from compiler.ir.expr.lanes import vscale_factor
from compiler.ir.expr.primexpr import Broadcast, IntImm, Ramp
from compiler.ir.expr.substitute import substitute
from compiler.ir.functor import nodes_of
from compiler.ir.module import IRModule
from compiler.ir.node import rebuild
from compiler.ir.origin import inheriting
from compiler.ir.transform import PassContext, register_config_option
from compiler.tir.analysis.features import features
from compiler.tir.statements.buffer import BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, ForKind, Stmt
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.calls.device_targets import FunctionTarget, target_or_current
from compiler.tir.transform.loops.vectorizer import Vectorizer
from compiler.tir.transform.pass_base import PrimFuncPass

register_config_option("tir.disable_vectorize", (bool, int))
register_config_option("tir.enable_buffer_level_predication", (bool, int))


class VectorizeLoop(PrimFuncPass):
    """Replace vectorized loops by operations on vectors.

    The loop variable becomes the vector of all its values, ``T.Ramp(0, 1, lanes)``, and that spreads upwards through
    each expression: an index becomes a ramp, what does not depend on the loop is broadcast::

        for j in T.vectorized(8):                →   C[i * 8:i * 8 + 8] = A[i * 8:i * 8 + 8] * T.Broadcast(b[i], 8)
            C[i * 8 + j] = A[i * 8 + j] * b[i]

    With ``tir.enable_buffer_level_predication``, the default where vectors are scalable, stores in a branch
    ``if j < n`` get a predicate.

    A statement that has no vector form stays a loop, a serial one: a branch whose condition differs from lane to lane,
    ``if_then_else`` likewise, a call of a C function, a loop with an extent of its own for each lane, several lanes
    that add into one element.  An allocation within the loop is widened, so that each lane keeps its own. Raises
    LoweringError if the extent of a vectorized loop is not a positive constant, or larger than the longest vector; or
    if a while loop is inside. On processors with scalable vectors it may be a multiple of ``vscale()``. Raises
    InternalError if vectors and scalable vectors would multiply: a vector in a loop over a multiple of ``vscale()``, or
    a scalable vector in any vectorized loop.

    Parameters
    ----------
    enable_vectorize : bool
        Without it, vectorized loops become serial ones; the option ``tir.disable_vectorize`` does the same.
    """

    enable_vectorize: bool = True

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        if ForKind.VECTORIZED not in features(func).kinds:
            return func
        enabled = self.enable_vectorize and not ctx.config.get("tir.disable_vectorize")
        if not enabled:
            return func.with_body(_MakeSerial().visit(func.body))
        target = target_or_current(func)
        scalable = target is not None and target.has_scalable_vectors
        predication = bool(ctx.config.get("tir.enable_buffer_level_predication", scalable))
        return func.with_body(_VectorizeLoops(target, predication).visit(func.body))


class _MakeSerial(StmtMutator):
    """Turns vectorized loops into serial ones."""

    def visit_For(self, n: For) -> Stmt:
        body = self.visit(n.body)
        if n.kind == ForKind.VECTORIZED:
            return rebuild(n, kind=ForKind.SERIAL, body=body)
        return rebuild(n, body=body)


class _VectorizeLoops(StmtMutator):
    """Finds the vectorized loops."""

    def __init__(self, target: FunctionTarget | None, predication: bool) -> None:
        self._target = target
        self._scalable = target is None or target.has_scalable_vectors
        self._predication = predication

    def visit_For(self, n: For) -> Stmt:
        if n.kind != ForKind.VECTORIZED:
            body = self.visit(n.body)
            return rebuild(n, body=body)
        _require_one_kind_of_vectors(n)
        if self._scalable and vscale_factor(n.extent) > 1:
            body = _MakeSerial().visit(n.body)
            with inheriting(n.span):
                lanes = -vscale_factor(n.extent)
                return self._vectorized(n, lanes, body)
        if not isinstance(n.extent, IntImm) or n.extent.value < 1:
            raise LoweringError(
                f"VectorizeLoop: Failed to vectorize loop with extent {show(n.extent)}"
                f"{f' for target {self._target}' if self._target else ''}: the extent of a vectorized loop must be a "
                f"positive constant, got {show(n.extent)} (loop {n.loop_var.name!r})"
            )
        if n.extent.value > dt.MAX_LANES:
            raise LoweringError(
                f"VectorizeLoop: a vector has at most {dt.MAX_LANES:,} lanes, and loop {n.loop_var.name!r} has "
                f"{n.extent.value:,} iterations; split it and vectorize the inner loop"
            )
        # A vector has one direction: loops that are vectorized within this one run serially.
        body = _MakeSerial().visit(n.body)
        with inheriting(n.span):
            if n.extent.value == 1:
                return substitute(body, {n.loop_var: n.min})
            return self._vectorized(n, n.extent.value, body)

    def _vectorized(self, n: For, lanes: int, body: Stmt) -> Stmt:
        vectorized: Stmt = Vectorizer(n.loop_var, n.min, lanes, self._predication).visit(body)
        return vectorized


def _require_one_kind_of_vectors(loop: For) -> None:
    """Reject the vectors within a vectorized loop whose number of lanes times the loop's is none of a vector."""
    scalable = vscale_factor(loop.extent) > 0
    for access in nodes_of(loop.body, BufferLoad, BufferStore):
        if dt.lanes(access.buffer.dtype) < 0:
            raise InternalError(
                "VectorizeLoop: Vectorizing over scalable buffer elements is not supported in vectorizer."
            )
    for n in nodes_of(loop.body, Ramp, Broadcast):
        if scalable:
            raise InternalError("VectorizeLoop: Creating scalable vectors from existing vectors is not supported.")
        if dt.lanes(n.dtype) < 0:
            raise InternalError("VectorizeLoop: Vectorizing over existing scalable vectors is not supported.")
