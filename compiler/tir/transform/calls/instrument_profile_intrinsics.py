"""Instruments functions and loops for a profiler."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass

from compiler.ir.expr.primexpr import Call, IntImm
from compiler.ir.module import IRModule
from compiler.ir.op import Op
from compiler.ir.transform import PassContext, register_config_option
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import Evaluate, For, IfThenElse, SeqStmt, Stmt, While, seq
from compiler.tir.statements.stmt_functor import StmtMutator
from compiler.tir.transform.pass_base import PrimFuncPass

INSTRUMENT = "tir.instrument_lwp"
"""The option of pass contexts that lets lowering instrument all functions."""
register_config_option(INSTRUMENT, (bool, int))
register_config_option("tir.lwp_disable_func_prof", (bool, int))
register_config_option("tir.lwp_max_depth", (int,))
register_config_option("tir.lwp_min_height", (int,))
register_config_option("tir.instr_siblings", (bool, int))

_numbers = itertools.count()
"""Measured parts have numbers of their own in the whole process, for kernels of several modules run side by side."""


class InstrumentProfileIntrinsics(PrimFuncPass):
    """Surround functions and loops by calls that begin and end a measured part.

    The options ``tir.lwp_disable_func_prof``, ``tir.lwp_max_depth``, ``tir.lwp_min_height`` and ``tir.instr_siblings``
    say which: whether the function itself is not one; how many loops are at most around a loop (0), and how many levels
    of loops at least inside of it (1); and whether it is loops with others beside them in a loop instead, at any depth
    (True)::

        for i in range(8):                  T.start_profile_intrinsic(0)
            for j in range(8):              for i in range(8):
                fill(j)               →         T.start_profile_intrinsic(2)
            for j in range(8):                  for j in range(8):
                use(j)                              fill(j)
                                                T.end_profile_intrinsic(2)
                                                …
                                            T.end_profile_intrinsic(0)

    Loops within conditions are left alone.  With ``tir.instrument_lwp``, lowering instruments every function; code for
    CPUs leaves the calls out.
    """

    def transform_function(self, func: PrimFunc, mod: IRModule, ctx: PassContext) -> PrimFunc:
        number = next(_numbers)
        loops = {loop: next(_numbers) for loop in _loops(func.body)}
        measured = {facts.loop: loops[facts.loop] for facts in _facts(func.body, 0, False) if _is_measured(facts, ctx)}
        body = _Surround(measured).visit(func.body)
        return func.with_body(body if ctx.config.get("tir.lwp_disable_func_prof") else _surrounded(body, number))


@dataclass(frozen=True, slots=True)
class _LoopFacts:
    """Where a loop stands: ``depth`` loops around it, ``height`` levels of loops inside of it."""

    loop: For
    depth: int
    height: int
    has_siblings: bool


def _is_measured(facts: _LoopFacts, ctx: PassContext) -> bool:
    if facts.height < int(ctx.config.get("tir.lwp_min_height", 1)):
        return False
    if ctx.config.get("tir.instr_siblings", True):
        return facts.has_siblings
    return facts.depth <= int(ctx.config.get("tir.lwp_max_depth", 0))


def _inner(body: Stmt) -> list[For]:
    """Return the outermost loops of a statement that no condition guards."""
    if isinstance(body, For):
        return [body]
    if isinstance(body, (IfThenElse, While)):
        return []
    parts = body.seq if isinstance(body, SeqStmt) else (getattr(body, "body", None),)
    return [loop for part in parts if isinstance(part, Stmt) for loop in _inner(part)]


def _loops(body: Stmt) -> Iterator[For]:
    """Yield loops from the outside to the inside, in order."""
    for loop in _inner(body):
        yield loop
        yield from _loops(loop.body)


def _height(loop: For) -> int:
    return max((1 + _height(inner) for inner in _inner(loop.body)), default=0)


def _facts(body: Stmt, depth: int, in_loop: bool) -> Iterator[_LoopFacts]:
    loops = _inner(body)
    for loop in loops:
        yield _LoopFacts(loop, depth, _height(loop), in_loop and len(loops) > 1)
        yield from _facts(loop.body, depth + 1, True)


def _surrounded(body: Stmt, number: int) -> Stmt:
    begin, end = (
        Evaluate(Call("handle", Op.get(f"tir.{word}_profile_intrinsic"), (IntImm("int32", number),)))
        for word in ("start", "end")
    )
    return seq([begin, body, end])


class _Surround(StmtMutator):
    def __init__(self, numbers: dict[For, int]) -> None:
        self._numbers = numbers

    def visit_For(self, n: For) -> Stmt:
        loop = self.visit_Node(n)
        number = self._numbers.get(n)
        return loop if number is None else _surrounded(loop, number)
