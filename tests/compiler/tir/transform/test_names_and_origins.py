"""What an observer of the passes relies on: names, summaries, and origins that survive."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import pytest

from compiler.ir.expr.primexpr import IterVar, Range, Var, const
from compiler.ir.expr.substitute import post_order_visit
from compiler.ir.instrument import PassInstrument
from compiler.ir.module import IRModule
from compiler.ir.origin import OriginTable, Span, derived_from, recording
from compiler.ir.transform import Pass, PassContext, PassInfo
from compiler.tir import transform
from compiler.tir.expressions import op as tir
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import AttrStmt, BufferStore, For, ForKind, IfThenElse, SeqStmt, Stmt, no_op, seq
from tests.compiler.tir.transform.programs import apply, function, loop, nodes, realize

ARGUMENTS: dict[str, tuple[Any, ...]] = {
    "Apply": (lambda func: func,),
    "ApplyIntrinRules": ("llvm",),
    "BindTarget": ("llvm",),
    "Filter": (lambda func: True,),
    "InjectCopyIntrin": ("memcpy", lambda *copied: no_op()),
    "LiftAttrScope": ("key",),
    "NarrowDataType": (32,),
    "ThreadSync": ("shared",),
    "VerifyGPUCode": ({"max_threads_per_block": 1024},),
}

NO_PASSES = ("HoistedConditionals", "HoistedLetBindings", "PrimFuncPass")
CONSTRUCTORS = [name for name in transform.__all__ if name[0].isupper() and name not in NO_PASSES]


@pytest.mark.parametrize("name", CONSTRUCTORS)
def test_a_pass_has_the_name_of_its_constructor_and_a_summary(name: str) -> None:
    make: Callable[..., Pass] = getattr(transform, name)
    assert make(*ARGUMENTS.get(name, ())).info.name == "tir." + name
    summary = (inspect.getdoc(make) or "").splitlines()[0]
    assert 20 < len(summary) <= 120
    assert summary.endswith(".")


class _Names(PassInstrument):
    def __init__(self) -> None:
        self.seen: list[str] = []

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        self.seen.append(info.name)


def test_the_parts_of_a_pass_are_seen_one_by_one() -> None:
    names, c = _Names(), decl_buffer((4,), "int32", name="C")
    with PassContext(instruments=[names]):
        transform.HoistIfThenElse()(IRModule({"main": function(BufferStore(c, const(1), (const(0),)), c)}))
    assert names.seen == ["tir.InsertHoistIfThenElse", "tir.Simplify", "tir.RemoveNoOp", "tir.HoistIfThenElse"]


def tiled(table: OriginTable) -> tuple[PrimFunc, dict[str, Span]]:
    """Return a function each part of which has an origin of its own."""
    spans = {
        name: table.mint("source", name, None, frozenset())
        for name in ("fill", "use", "unroll", "vectorize", "guard", "vthread", "loop")
    }
    a, c = decl_buffer((64,), "int32", name="A"), decl_buffer((64,), "int32", name="C")
    local = decl_buffer((64,), "int32", name="L")
    o, u, v, w, t = (Var(n) for n in "ouvwt")
    with derived_from(spans["fill"]):
        fill: Stmt = BufferStore(local, a[o * 8 + v] + 1, (o * 8 + v,))
    with derived_from(spans["vectorize"]):
        fill = loop(v, 8, fill, ForKind.VECTORIZED)
    with derived_from(spans["use"]):
        use: Stmt = BufferStore(c, local[o * 8 + w * 4 + u] * 2, (o * 8 + w * 4 + u + t * 32,))
    with derived_from(spans["guard"]):
        use = IfThenElse(tir.likely(o * 8 + w * 4 + u < 30), use)
    with derived_from(spans["unroll"]):
        use = loop(u, 4, use, ForKind.UNROLLED)
    with derived_from(spans["vthread"]):
        axis = IterVar(Range(0, 2), t, IterVar.ThreadIndex, "vthread")
        use = AttrStmt(axis, "virtual_thread", const(2), use)
    with derived_from(spans["loop"]):
        inside = seq([fill, loop(w, 2, use)])
        body = loop(o, 4, realize(local, inside, (o * 8, 8)))
        return function(body, a, c), spans


def usual_passes() -> list[Pass]:
    return [
        transform.StorageFlatten(64),
        transform.Simplify(),
        transform.LoopPartition(),
        transform.VectorizeLoop(),
        transform.InjectVirtualThread(),
        transform.StorageRewrite(),
        transform.HoistIfThenElse(),
        transform.UnrollLoop(),
        transform.Simplify(),
        transform.RemoveNoOp(),
        transform.RewriteUnsafeSelect(),
        transform.CommonSubexprElimTIR(),
    ]


@pytest.mark.parametrize("constant", [False, True])
def test_every_statement_and_operation_keeps_an_origin(constant: bool) -> None:
    with recording(OriginTable()) as table:
        func, spans = tiled(table)
        config = {"tir.LoopPartition": {"partition_const_loop": constant}}
        after = apply(func, *usual_passes(), config=config)
    lost: list[Any] = []

    def note(n: Any) -> None:
        if not n.span and not isinstance(n, (Var, SeqStmt)):
            lost.append(n)

    post_order_visit(after.body, note)
    assert not lost
    filled = [n for n in nodes(after, BufferStore) if n.span & spans["fill"]]
    used = [n for n in nodes(after, BufferStore) if n.span & spans["use"]]
    assert filled
    assert used
    assert all(n.span >= spans["vectorize"] for n in filled)
    assert all(n.span >= spans["unroll"] | spans["vthread"] for n in used)
    assert all(n.span & spans["loop"] for n in nodes(after, For) if n.loop_var.name in "ow")
