"""Loop IR is written as TVMScript, and the text knows where each node stands in it."""

from __future__ import annotations

import pytest

from compiler import tir
from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import FloatImm, IntImm, PrimExpr, StringImm, Var
from compiler.ir.functor import Visitor
from compiler.ir.module import IRModule
from compiler.ir.structural import assert_structural_equal
from compiler.ir.types import PointerType, PrimType
from compiler.tir.printing.printer import script
from compiler.tir.script import from_source
from compiler.tir.script import ir as I
from compiler.tir.script import tir as T

i, j = Var("i"), Var("j")
j64 = Var("j", "int64")
x = Var("x", "float32")
b = Var("b", "bool")
A = tir.decl_buffer((16,), name="A")
matrix = tir.decl_buffer((4, 8), "int32", name="matrix")


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (i * 2 + 3, "i * 2 + 3"),
        ((i + 2) * 3, "(i + 2) * 3"),
        (i - (i - 1), "i - (i - 1)"),
        (i - 1 - i, "i - 1 - i"),
        (i + (i + 1), "i + (i + 1)"),
        (i * i // (i * i), "i * i // (i * i)"),
        (i % 3 * 4, "i % 3 * 4"),
        (tir.truncdiv(i, 3), "T.Div(i, 3)"),
        (tir.truncmod(i, 3), "T.truncmod(i, 3)"),
        (x / 2.0, "x / T.float32(2.0)"),
        (tir.Mul(4, 5), "T.Mul(4, 5)"),
        (tir.min(i, 3), "T.min(i, 3)"),
        (tir.any(i < 3, tir.all(i > 1, b)), "i < 3 or i > 1 and b"),
        (tir.And(tir.Or(b, b), b), "(b or b) and b"),
        (tir.Not(tir.And(b, b)), "not (b and b)"),
        (tir.Not(i < 3), "not i < 3"),
        (tir.EQ(i < 3, b), "(i < 3) == b"),
        (tir.Cast("float32", j64), 'T.Cast("float32", j)'),
        (tir.if_then_else(i < 3, x, 2.0), "T.if_then_else(i < 3, x, T.float32(2.0))"),
        (tir.Select(i < 3, x, x), "T.Select(i < 3, x, x)"),
        (tir.exp(x), "T.exp(x)"),
        (i << 2, "T.shift_left(i, 2)"),
        (tir.Ramp(i, 1, 4), "T.Ramp(i, 1, 4)"),
        (tir.Broadcast(x, 4), "T.Broadcast(x, 4)"),
        (tir.Let(i, IntImm("int32", 3), i + 1), "T.Let(i + 1, where={i: 3})"),
        (tir.call_extern("float32", "f", x, 1), 'T.call_extern("float32", "f", x, 1)'),
        (StringImm('a "quoted"\nword'), '"a \\"quoted\\"\\nword"'),
        (IntImm("int64", -3), "T.int64(-3)"),
        (IntImm("bool", 1), "T.bool(True)"),
        (FloatImm("float32", 0.1), "T.float32(0.10000000000000001)"),
        (FloatImm("float64", 1e30), "T.float64(1000000000000000019884624838656.0)"),
        (FloatImm("float32", float("-inf")), 'T.float32("-inf")'),
        (FloatImm("float32", float("nan")), 'T.float32("nan")'),
        (A[i], "A[i]"),
        (A[tir.Ramp(i, 1, 4)], "A[i:i + 4]"),
        (A[tir.Ramp(i, 2, 4)], "A[i:i + 8:2]"),
        (A[tir.Ramp(0, 1, 4)], "A[0:4]"),
        (A[tir.Ramp(i, j, 4)], "A[T.Ramp(i, j, 4)]"),
        (matrix[i, tir.Ramp(i * 2, 1, 4)], "matrix[i, i * 2:i * 2 + 4]"),
        (tir.likely(i < 3), "T.likely(i < 3)"),
    ],
)
def test_expressions(expression: PrimExpr, text: str) -> None:
    assert str(expression) == text


def store(value: float, index: PrimExpr = i) -> tir.Stmt:
    return tir.BufferStore(A, tir.const(value, "float32"), [index])


def loop(var: Var, extent: object, body: tir.Stmt, kind: int = 0, **more: object) -> tir.For:
    return tir.For(var, 0, extent, kind, body, **more)


pointer = Var("local", PointerType(PrimType("float32"), "local"))
local = tir.decl_buffer((16,), name="local", data=pointer)
allocation = tir.Allocate(pointer, "float32", [16], tir.const(True), tir.BufferStore(local, x, [0]))

STATEMENTS = {
    "a free buffer and a free variable are declared first": (
        store(1.0),
        """
A = T.Buffer((16,))
i = T.int32()
A[i] = T.float32(1.0)
""",
    ),
    "a nest of plain loops is a grid": (
        loop(i, 4, loop(j, 5, store(1.0))),
        """
for i, j in T.grid(4, 5):
    A = T.Buffer((16,))
    A[i] = T.float32(1.0)
""",
    ),
    "a loop that depends on another one stands alone": (
        loop(i, 4, loop(j, i, store(1.0))),
        """
for i in range(4):
    for j in range(i):
        A = T.Buffer((16,))
        A[i] = T.float32(1.0)
""",
    ),
    "a loop from elsewhere than zero": (
        tir.For(i, 2, 5, 0, tir.Evaluate(i)),
        """
for i in range(2, 7):
    T.evaluate(i)
""",
    ),
    "kinds and annotations": (
        loop(i, 4, loop(j, 4, store(1.0), 3, annotations={"pragma_unroll": 1}), 1),
        """
for i in T.parallel(4):
    for j in T.unroll(4, annotations={"pragma_unroll": 1}):
        A = T.Buffer((16,))
        A[i] = T.float32(1.0)
""",
    ),
    "a buffer is declared in the innermost block that holds all uses": (
        loop(i, 4, tir.SeqStmt([store(1.0), loop(j, 4, tir.SeqStmt([store(2.0), tir.Evaluate(matrix[i, j])]))])),
        """
for i in range(4):
    A = T.Buffer((16,))
    A[i] = T.float32(1.0)
    for j in range(4):
        A[i] = T.float32(2.0)
        matrix = T.Buffer((4, 8), "int32")
        T.evaluate(matrix[i, j])
""",
    ),
    "both branches share what both use": (
        tir.IfThenElse(i < 8, store(1.0), store(2.0)),
        """
i = T.int32()
A = T.Buffer((16,))
if i < 8:
    A[i] = T.float32(1.0)
else:
    A[i] = T.float32(2.0)
""",
    ),
    "a let that ends its block needs no block of its own": (
        loop(i, 4, tir.LetStmt(x, tir.const(1.0), tir.BufferStore(A, x, [i]))),
        """
for i in range(4):
    x: T.float32 = T.float32(1.0)
    A = T.Buffer((16,))
    A[i] = x
""",
    ),
    "a let in the middle has a block": (
        tir.SeqStmt([tir.LetStmt(x, tir.const(1.0), tir.BufferStore(A, x, [i])), store(2.0)]),
        """
A = T.Buffer((16,))
i = T.int32()
with T.LetStmt(T.float32(1.0)) as x:
    A[i] = x
A[i] = T.float32(2.0)
""",
    ),
    "an allocation and the buffer over it": (
        loop(i, 4, allocation),
        """
for i in range(4):
    local = T.allocate([16], "float32", "local")
    local_1 = T.Buffer((16,), data=local, scope="local")
    x = T.float32()
    local_1[0] = x
""",
    ),
    "attributes and realizations": (
        loop(i, 4, tir.AttrStmt(A, "double_buffer_scope", IntImm("int32", 1), tir.Evaluate(0))),
        """
for i in range(4):
    A = T.Buffer((16,))
    T.attr(A, "double_buffer_scope", 1)
    T.evaluate(0)
""",
    ),
    "names are unique where they are visible": (
        loop(i, 4, loop(Var("i"), 4, store(1.0))),
        """
for i, i_1 in T.grid(4, 4):
    A = T.Buffer((16,))
    A[i] = T.float32(1.0)
""",
    ),
    "while": (
        tir.While(A[0] < 1.0, store(1.0)),
        """
A = T.Buffer((16,))
while A[0] < T.float32(1.0):
    i = T.int32()
    A[i] = T.float32(1.0)
""",
    ),
}


@pytest.mark.parametrize("case", STATEMENTS, ids=lambda c: c.replace(" ", "_"))
def test_statements(case: str) -> None:
    stmt, text = STATEMENTS[case]
    assert str(stmt) == text.strip()


def function(**attrs: object) -> tir.PrimFunc:
    n = Var("n")
    handle, out = Var("A", "handle"), Var("out", "handle")
    source = tir.decl_buffer((n, n * 2), name="A")
    result = tir.decl_buffer((16,), name="out")
    view = tir.decl_buffer((4, 4), name="view", data=result.data)
    body = loop(i, 4, tir.BufferStore(view, source[i, i] + x, [i, i]))
    return tir.PrimFunc((handle, out, x), body, None, {handle: source, out: result}, attrs)


def test_a_function_matches_buffers_whose_shape_is_symbolic() -> None:
    assert (
        str(function(global_symbol="main", **{"tir.noalias": True}))
        == """\
# from tvm.script import tir as T

@T.prim_func
def main(A: T.handle, out: T.Buffer((16,), "float32"), x: T.float32):
    T.func_attr({"tir.noalias": T.bool(True)})
    n = T.int32()
    A_1 = T.match_buffer(A, (n, n * 2))
    for i in range(4):
        view = T.Buffer((4, 4), data=out.data)
        view[i, i] = A_1[i, i] + x"""
    )


def test_a_module_lists_its_functions_by_name() -> None:
    text = str(IRModule({"second": function(global_symbol="second"), "first": function()}))
    lines = text.splitlines()
    assert lines[:5] == [
        "# from tvm.script import ir as I",
        "# from tvm.script import tir as T",
        "",
        "@I.ir_module",
        "class Module:",
    ]
    assert lines[5] == "    @T.prim_func(private=True)"
    assert lines[6].startswith("    def first(")
    assert [line.strip() for line in lines if "def " in line][1].startswith("def second(")


class Nodes(Visitor):
    def __init__(self) -> None:
        self.found: list[object] = []

    def visit_Node(self, n: object) -> None:
        self.found.append(n)
        Visitor.visit_Node(self, n)


def test_every_node_that_code_is_made_of_has_a_place() -> None:
    func = function()
    out = script(func)
    nodes = Nodes()
    nodes.visit(func.body)
    for n in nodes.found:
        if isinstance(n, (Var, IntImm, FloatImm)):
            continue
        line, column = out.positions[n]
        text = out.lines[line - 1].text[column - 1 :]
        if isinstance(n, tir.For):
            assert text.startswith("for i in ")
        elif isinstance(n, tir.BufferLoad):
            assert text.startswith("A_1[i, i]")
        elif isinstance(n, (tir.BufferStore, tir.Add)):
            assert text.startswith("view[i, i] = " if isinstance(n, tir.BufferStore) else "A_1[i, i] + x")


def test_a_loop_owns_its_header_not_its_body() -> None:
    stmt = loop(i, 4, store(1.0))
    out = script(stmt)
    owned = [n for n, line in enumerate(out.lines) if any(r.node is stmt for r in line.regions)]
    assert owned == [0]


def test_script_refuses_what_it_cannot_write() -> None:
    with pytest.raises(ArgumentError, match="script: expected a module"):
        script(3)  # type: ignore[arg-type]


def test_loop_notation() -> None:
    body = tir.IfThenElse(
        i < 3, tir.BufferStore(A, A[i * 2 + 1] * 2.5 + tir.max(x, 0.0), [i]), tir.BufferStore(A, x, [i])
    )
    stmt = loop(i, 4, tir.LetStmt(j, i * 2, tir.SeqStmt([body, loop(Var("k"), 2, store(0.0, j), 1)])))
    handle = Var("A", "handle")
    func = tir.PrimFunc((handle, x), stmt, None, {handle: A})
    mod = IRModule({"main": func}, attrs={"simple_mode": True})
    assert (
        str(mod)
        == """\
for (i, 0, 4) {
  let j = i*2
  if (i < 3) {
    A[i] = A[i*2 + 1] * 2.5f + max(x, 0f)
  } else {
    A[i] = x
  }
  parallel (k, 0, 2) {
    A[j] = 0f
  }
}"""
    )
    assert mod.script().startswith("# from tvm.script")


def test_variables_and_buffers_of_one_name_are_told_apart_in_expressions() -> None:
    a, b, c = Var("x"), Var("x"), Var("x_1")
    assert str(a + b * c) == "x + x_1 * x_1_1"
    first, second = tir.decl_buffer((4,), name="A"), tir.decl_buffer((4,), name="A")
    assert str(first[a] + second[a] + first[b]) == "A[x] + A_1[x] + A[x_1]"
    assert str(first) == "A"


def test_each_buffer_declares_the_variables_that_it_uses_first() -> None:
    @T.prim_func
    def f(a: T.handle, b: T.handle):
        n, m = T.int32(), T.int64()
        A = T.match_buffer(a, (n, 4))
        B = T.match_buffer(b, (m, n))
        A[0, 0] = B[0, 0]

    lines = [line.strip() for line in str(f).splitlines()]
    at = lines.index("n = T.int32()")
    assert lines[at + 1].startswith("A = T.match_buffer(a")
    assert lines[at + 2] == "m = T.int64()"
    assert lines[at + 3].startswith("B = T.match_buffer(b")
    assert_structural_equal(from_source(str(f)), f)


def test_calls_between_functions_name_the_module_as_it_is_called() -> None:
    @I.ir_module
    class Module:
        @T.prim_func
        def main(A: T.Buffer((4,), "float32")):
            Module.helper(A.data)

        @T.prim_func(private=True)
        def helper(p: T.handle("float32")):
            T.evaluate(0)

    text = Module.script(name="Other")
    assert "class Other:" in text
    assert "Other.helper(A.data)" in text
    assert_structural_equal(from_source(text), Module)


@pytest.mark.parametrize("scope", ["", "global", "shared"])
def test_a_pointer_of_another_type_for_a_part_of_a_block_keeps_its_type(scope: str) -> None:
    a = Var("a", PointerType(PrimType("float32"), "global"))
    p = Var("p", PointerType(PrimType("uint8"), scope))
    body = tir.SeqStmt([tir.LetStmt(p, a, tir.Evaluate(tir.call_extern("int32", "f", p))), tir.Evaluate(a)])
    function = tir.PrimFunc([a], body)
    assert 'with T.LetStmt(a, T.handle("uint8"' in function.script()
    assert_structural_equal(from_source(function.script()), function)
