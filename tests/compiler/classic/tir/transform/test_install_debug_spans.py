"""InstallDebugSpans: statements and expressions come from the lines of the function's own text."""

from __future__ import annotations

from compiler.ir.expr.primexpr import FloatImm, Mul, PrimExpr, Var
from compiler.ir.module import IRModule
from compiler.ir.structural import assert_structural_equal
from compiler.tir.script import from_source
from compiler.tir.statements.buffer import BufferStore
from compiler.tir.statements.stmt import For, IfThenElse, Stmt
from compiler.tir.transform import InstallDebugSpans
from tests.compiler.tir.transform.programs import nodes

SOURCE = """
@T.prim_func
def scale(A: T.Buffer((8,), "float32")):
    T.func_attr({"global_symbol": "scale"})
    for i in range(8):
        if i < 3:
            A[i] = A[i] * T.float32(2)
        else:
            A[i] = T.float32(1)
"""


def test_spans_are_lines_of_the_text() -> None:
    before = IRModule({"scale": from_source(SOURCE)})
    after = InstallDebugSpans()(before)
    assert_structural_equal(after, before)
    lines = after["scale"].script().splitlines()
    for kind, beginning in ((For, "for i in range(8)"), (IfThenElse, "if i < 3"), (Mul, "A[i] = A[i] * ")):
        (found,) = nodes(after["scale"].body, kind)
        assert lines[found.span.line - 1].strip().startswith(beginning)
    assert [lines[store.span.line - 1].strip() for store in nodes(after["scale"].body, BufferStore)] == [
        "A[i] = A[i] * T.float32(2.0)",
        "A[i] = T.float32(1.0)",
    ]


def test_everything_but_variables_has_a_span_of_the_source() -> None:
    body = InstallDebugSpans()(IRModule({"scale": from_source(SOURCE)}))["scale"].body
    parts = [n for kind in (Stmt, PrimExpr) for n in nodes(body, kind) if not isinstance(n, Var)]
    assert {n.span.source_name.name for n in parts} == {"scale.tir"}
    (one,) = [n for n in nodes(body, FloatImm) if n.value == 1]
    (store,) = [n for n in nodes(body, BufferStore) if n.value is one]
    assert one.span.line == store.span.line
