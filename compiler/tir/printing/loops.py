"""Printing in the notation of Halide and early TVM: ``for (i, 0, 1024) {``.

It says less than TVMScript (no types, no declarations of buffers) and reads faster; ``lower(simple_mode=True)`` asks
for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np

from compiler.ir import dtype as dt
from compiler.ir.expr import primexpr as expr
from compiler.ir.expr.primexpr import PrimExpr
from compiler.ir.module import IRModule
from compiler.ir.node import Node
from compiler.ir.op import Op
from compiler.ir.printing.text import TextBuilder
from compiler.tir.printing.expr import PRECEDENCE, PRODUCT, ExprPrinter
from compiler.tir.printing.literals import string_text
from compiler.tir.printing.scope import Named
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.buffer import Buffer
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.producer_stmt import BufferRealize, Prefetch
from compiler.tir.statements.stmt import Stmt

SIMPLE_MODE = "simple_mode"
"""Attribute of a module that ``str`` writes in this notation."""

_KEYWORDS = {
    tir.ForKind.SERIAL: "for",
    tir.ForKind.PARALLEL: "parallel",
    tir.ForKind.VECTORIZED: "vectorized",
    tir.ForKind.UNROLLED: "unrolled",
    tir.ForKind.THREAD_BINDING: "thread",
}
_SYMBOLS = {"and": "&&", "or": "||", "truncmod": "%"}
_FUNCTIONS = {"min": "min", "max": "max", "//": "floordiv", "%": "floormod"}


def loops(mod: IRModule) -> TextBuilder:
    """Return the functions of a module in loop notation; several ones each under a comment with its name."""
    out = TextBuilder(indent="  ")
    functions = [(var.name_hint, func) for var, func in mod.items() if isinstance(func, PrimFunc)]
    for name, func in functions:
        if len(functions) > 1:
            out.line(f"// {name}")
        printer = LoopPrinter(out)
        for buffer in func.buffer_map.values():
            printer.names.define(buffer.data, buffer.name)
        printer.visit(func.body, 0)
    return out


class LoopPrinter(ExprPrinter):
    """Writes statements and expressions in loop notation; all views of one memory have one name."""

    def name_of(self, n: Named) -> str:
        if isinstance(n, Buffer):
            return self.names.define(n.data, n.name)
        return self.names.define(n, n.name)

    @contextmanager
    def braces(self, n: Node) -> Iterator[None]:
        """Write a header, then ``{``; the block and ``}`` follow in :meth:`block`."""
        with self.out.at(n):
            yield
            self.out.write(" {")
        self.out.newline()

    def block(self, body: Stmt, end: str = "}") -> None:
        """Write an indented block in a scope of its own and the line that ends it."""
        with self.names.scope(), self.out.indented():
            self.visit(body, 0)
        if end:
            self.out.line(end)

    # statements

    def visit_SeqStmt(self, n: tir.SeqStmt, level: int) -> None:
        for stmt in n.seq:
            self.visit(stmt, 0)

    def visit_For(self, n: tir.For, level: int) -> None:
        with self.names.scope():
            with self.braces(n):
                self.out.write(f"{_KEYWORDS[n.kind]} ({self.name_of(n.loop_var)}, ")
                self.expr(n.min)
                self.out.write(", ")
                self.expr(n.extent)
                self.out.write(")")
                if n.thread_binding is not None:
                    self.out.write(f" on {n.thread_binding.thread_tag}")
            self.block(n.body)

    def visit_While(self, n: tir.While, level: int) -> None:
        with self.braces(n):
            self._call("while ", n.condition)
        self.block(n.body)

    def visit_IfThenElse(self, n: tir.IfThenElse, level: int) -> None:
        with self.braces(n):
            self._call("if ", n.condition)
        if n.else_case is None:
            self.block(n.then_case)
        else:
            self.block(n.then_case, end="} else {")
            self.block(n.else_case)

    def visit_BufferStore(self, n: tir.BufferStore, level: int) -> None:
        with self.line(n):
            self.element(n.buffer, n.indices)
            self.out.write(" = ")
            self.expr(n.value)
            if n.predicate is not None:
                self.out.write(" where ")
                self.expr(n.predicate)

    def visit_Evaluate(self, n: tir.Evaluate, level: int) -> None:
        with self.line(n):
            self.expr(n.value)

    def visit_LetStmt(self, n: tir.LetStmt, level: int) -> None:
        with self.line(n):
            self.out.write(f"let {self.name_of(n.var)} = ")
            self.expr(n.value)
        self.visit(n.body, 0)

    def visit_Allocate(self, n: tir.Allocate, level: int) -> None:
        with self.line(n):
            self.out.write(f"allocate {self.names.define(n.buffer_var, n.buffer_var.name)}[{n.dtype} * ")
            self.sequence(n.extents, " * ")
            self.out.write("]")
        self.visit(n.body, 0)

    def visit_BufferRealize(self, n: BufferRealize, level: int) -> None:
        with self.braces(n):
            self.out.write(f"realize {self.name_of(n.buffer)}(")
            self.sequence(n.bounds)
            self.out.write(")")
        self.block(n.body)

    def visit_DeclBuffer(self, n: tir.DeclBuffer, level: int) -> None:
        self.visit(n.body, 0)

    def visit_AttrStmt(self, n: tir.AttrStmt, level: int) -> None:
        with self.line(n):
            self.out.write("// attr [")
            self.value(n.node)
            self.out.write(f"] {n.attr_key} = ")
            self.expr(n.value)
        self.visit(n.body, 0)

    def visit_AssertStmt(self, n: tir.AssertStmt, level: int) -> None:
        with self.line(n):
            self._call("assert", n.condition, n.message)
        self.visit(n.body, 0)

    def visit_Prefetch(self, n: Prefetch, level: int) -> None:
        with self.line(n):
            self._call(f"prefetch {self.name_of(n.buffer)}", *n.bounds)

    # expressions

    def visit_IntImm(self, n: expr.IntImm, level: int) -> None:
        self.out.write({0: "false", 1: "true"}[n.value] if dt.is_bool(n.dtype) else str(n.value))

    def visit_FloatImm(self, n: expr.FloatImm, level: int) -> None:
        narrow = {"float32": np.float32, "float16": np.float16}.get(n.dtype)
        text = str(narrow(n.value) if narrow else n.value)  # as few digits as the type needs
        self.out.write(text.removesuffix(".0") + {"float32": "f", "float16": "h"}.get(n.dtype, ""))

    def visit_BinaryOp(self, n: expr.BinaryOp, level: int) -> None:
        if n.symbol in _FUNCTIONS:
            self._call(_FUNCTIONS[n.symbol], n.a, n.b)
            return
        symbol = _SYMBOLS.get(n.symbol, n.symbol)
        own = PRODUCT if symbol == "%" else PRECEDENCE[n.symbol]
        tight = symbol in ("*", "/", "%") and dt.is_integral(n.dtype)
        self._infix(n, symbol if tight else f" {symbol} ", own, level)

    def visit_Not(self, n: expr.Not, level: int) -> None:
        self.out.write("!")
        self.expr(n.a, PRODUCT + 1)

    def visit_Cast(self, n: expr.Cast, level: int) -> None:
        self._call(n.dtype, n.value)

    def visit_Select(self, n: expr.Select, level: int) -> None:
        self._call("select", n.condition, n.true_value, n.false_value)

    def visit_Ramp(self, n: expr.Ramp, level: int) -> None:
        self._call("ramp", n.base, n.stride, str(n.lanes))

    def visit_Broadcast(self, n: expr.Broadcast, level: int) -> None:
        self._call(f"x{n.lanes}", n.value)

    def visit_Let(self, n: expr.Let, level: int) -> None:
        self.out.write(f"(let {self.name_of(n.var)} = ")
        self.expr(n.value)
        self.out.write(" in ")
        self.expr(n.body)
        self.out.write(")")

    def visit_Call(self, n: expr.Call, level: int) -> None:
        name = n.op.name.removeprefix("tir.") if isinstance(n.op, Op) else str(n.op)
        self._call(name, *n.args)

    def element(self, buffer: Named, indices: Sequence[PrimExpr]) -> None:
        self.out.write(self.name_of(buffer) + "[")
        self.sequence(indices)
        self.out.write("]")

    def visit_Range(self, n: expr.Range, level: int) -> None:
        self.out.write("[")
        self.expr(n.min)
        self.out.write(", ")
        self.expr(n.extent)
        self.out.write("]")

    def visit_IterVar(self, n: expr.IterVar, level: int) -> None:
        self.out.write(f"iter_var({self.name_of(n.var)}, {n.thread_tag or string_text('')})")

    def visit_StringImm(self, n: expr.StringImm, level: int) -> None:
        self.out.write(string_text(n.value))
