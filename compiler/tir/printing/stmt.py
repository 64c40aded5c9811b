"""TVMScript printing of statements."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TypeVar

from compiler.ir.expr.primexpr import Call, IntImm, IterVar, StringImm, Var, is_const_int
from compiler.ir.expr.substitute import uses_var
from compiler.ir.memory import ALIGNMENT
from compiler.ir.printing.text import TextBuilder
from compiler.ir.scriptable import ScriptOptions
from compiler.ir.structural import structural_equal
from compiler.ir.types import PointerType, PrimType
from compiler.tir.expressions.builtin import RET
from compiler.tir.printing.expr import DEFAULT_OPTIONS, ExprPrinter
from compiler.tir.printing.literals import declaration_text, float_text, handle_text, string_text
from compiler.tir.printing.scope import Definitions, Named, Names, layout_fields
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.allocations import pointer_scope
from compiler.tir.statements.buffer import DEFAULT, Buffer
from compiler.tir.statements.producer_stmt import BufferRealize, Prefetch, ProducerRealize, ProducerStore
from compiler.tir.statements.stmt import REALIZE_SCOPE, THREAD_KEYS, For, ForKind, Stmt

_LOOPS = {
    ForKind.SERIAL: "T.serial",
    ForKind.PARALLEL: "T.parallel",
    ForKind.VECTORIZED: "T.vectorized",
    ForKind.UNROLLED: "T.unroll",
    ForKind.THREAD_BINDING: "T.thread_binding",
}


Holding = TypeVar(
    "Holding",
    tir.LetStmt,
    tir.Allocate,
    tir.AllocateConst,
    tir.AttrStmt,
    tir.AssertStmt,
    BufferRealize,
    ProducerRealize,
    tir.DeclBuffer,
)


class StmtPrinter(ExprPrinter):
    """Writes statements to a text builder; a statement's region is its header, never its body.

    Every rule takes ``last``: whether nothing follows in the block.  Then what the statement defines holds for the
    rest of the block, and its body is written without indentation.
    """

    def __init__(
        self,
        out: TextBuilder,
        definitions: Definitions,
        names: Names | None = None,
        options: ScriptOptions = DEFAULT_OPTIONS,
    ) -> None:
        ExprPrinter.__init__(self, out, names, options)
        self.definitions = definitions

    def block(self, body: Stmt) -> None:
        """Write an indented block with a scope of its own."""
        with self.names.scope(), self.out.indented():
            self.body(body, True)

    def body(self, stmt: Stmt, last: bool) -> None:
        """Write statements into the block that is open, with the definitions that they need."""
        if isinstance(stmt, tir.SeqStmt):
            end = len(stmt.seq) - 1
            for index, item in enumerate(stmt.seq):
                self.body(item, last and index == end)
            return
        for n in self.definitions.before.get(stmt, ()):
            self.definition(n)
        self.visit(stmt, last and stmt not in self.options.obj_to_annotate)

    # definitions

    def definition(self, n: Var | Buffer) -> None:
        """Declare a buffer or a variable that no statement defines."""
        if self.names.get(n) is not None:
            return  # a field of a buffer that is declared already
        with self.line(n):
            if isinstance(n, Buffer):
                self.out.write(self.declare(n) + " = T.Buffer(")
                self.buffer_arguments(n)
                self.out.write(")")
            else:
                name = self.names.define(n, n.name)
                self.out.write(f"{name} = {declaration_text(n)}")

    def declare(self, buffer: Buffer) -> str:
        """Name a buffer; what nobody else defined is from now on a field of it."""
        owns_data = self.names.get(buffer.data) is None
        name = self.names.define(buffer, buffer.name)
        if owns_data:
            self.names.alias(buffer.data, f"{name}.data")
        for var, field in layout_fields(buffer).items():
            self.names.alias(var, f"{name}.{field}")
        return name

    def buffer_arguments(self, n: Buffer) -> None:
        """Write shape, type and layout of a buffer, as far as they are not the usual ones."""
        self.shape(n.shape)
        if n.dtype != self.options.buffer_dtype:
            self.out.write(f', "{n.dtype}"')
        owner = self.names.get(n.data)
        if owner is not None and owner != f"{self.names.get(n)}.data":
            self.out.write(f", data={owner}")
        if n.strides:
            self.out.write(", strides=(")
            for index, stride in enumerate(n.strides):
                self.out.write(", " if index else "")
                if isinstance(stride, Var) and self.names.get(stride) == f"{self.names.get(n)}.strides[{index}]":
                    self.out.write(string_text(stride.name))
                else:
                    self.expr(stride)
            self.out.write(",)" if len(n.strides) == 1 else ")")
        offset = self.names.get(n.elem_offset) == f"{self.names.get(n)}.elem_offset"
        if not offset and (not is_const_int(n.elem_offset, 0) or n.offset_factor > 1):
            self.out.write(", elem_offset=")
            self.expr(n.elem_offset)
        if n.storage_scope not in ("", "global"):
            self.out.write(f', scope="{n.storage_scope}"')
        if n.data_alignment != ALIGNMENT:
            self.out.write(f", align={n.data_alignment}")
        if offset or n.offset_factor > 1:
            self.out.write(f", offset_factor={n.offset_factor}")
        if n.buffer_type != DEFAULT:
            self.out.write(', buffer_type="auto"')
        if n.axis_separators:
            self.out.write(", axis_separators=[")
            self.sequence(n.axis_separators)
            self.out.write("]")

    # loops and branches

    def visit_For(self, n: For, last: bool) -> None:
        nest = self._grid(n)
        with self.names.scope():
            with self.line(n):
                if len(nest) > 1:
                    self._grid_header(nest)
                else:
                    name = self.names.define(n.loop_var, n.loop_var.name)
                    self.out.write(f"for {name} in ")
                    self._loop_header(n)
                self.out.write(":")
            with self.out.indented():
                self.body(nest[-1].body, True)

    def _grid(self, n: For) -> list[For]:
        """Return the nest of loops from ``n`` on that one ``T.grid`` can stand for."""
        nest = [n]
        while self.options.syntax_sugar and _plain(nest[-1]):
            inner = nest[-1].body
            if not isinstance(inner, For) or not _plain(inner) or inner in self.definitions.before:
                break
            outer = {loop.loop_var for loop in nest}
            if not isinstance(inner.extent, IntImm) and uses_var(inner.extent, outer.__contains__):
                break
            nest.append(inner)
        return nest

    def _grid_header(self, nest: list[For]) -> None:
        self.out.write("for ")
        for index, loop in enumerate(nest):
            self.out.write(", " if index else "")
            with self.out.at(loop):
                self.out.write(self.names.define(loop.loop_var, loop.loop_var.name))
        self.out.write(" in T.grid(")
        for index, loop in enumerate(nest):
            self.out.write(", " if index else "")
            with self.out.at(loop):
                self.expr(loop.extent)
        self.out.write(")")

    def _loop_header(self, n: For) -> None:
        plain = n.kind is ForKind.SERIAL and not n.annotations
        self.out.write(("range" if plain else _LOOPS[n.kind]) + "(")
        if not is_const_int(n.min, 0):
            self.expr(n.min)
            self.out.write(", ")
        self.range_end(n.min, n.extent)
        if n.thread_binding is not None:
            self.out.write(f', thread="{n.thread_binding.thread_tag}"')
        self._annotations(n.annotations)
        self.out.write(")")

    def _annotations(self, annotations: Mapping[str, object]) -> None:
        if annotations:
            self.out.write(", annotations=")
            self.value(annotations)

    def visit_While(self, n: tir.While, last: bool) -> None:
        with self.line(n):
            self.out.write("while ")
            self.expr(n.condition)
            self.out.write(":")
        self.block(n.body)

    def visit_IfThenElse(self, n: tir.IfThenElse, last: bool) -> None:
        with self.line(n):
            self.out.write("if ")
            self.expr(n.condition)
            self.out.write(":")
        self.block(n.then_case)
        if n.else_case is not None:
            with self.line(n):
                self.out.write("else:")
            self.block(n.else_case)

    # stores and effects

    def visit_BufferStore(self, n: tir.BufferStore, last: bool) -> None:
        if n.predicate is None:
            self._store(n, n.buffer)
            return
        with self.line(n):
            self.vector_access("vstore", n, n.value)

    def visit_ProducerStore(self, n: ProducerStore, last: bool) -> None:
        self._store(n, n.producer)

    def _store(self, n: tir.BufferStore | ProducerStore, target: Named) -> None:
        with self.line(n):
            self.element(target, n.indices)
            self.out.write(" = ")
            self.expr(n.value)

    def visit_Evaluate(self, n: tir.Evaluate, last: bool) -> None:
        with self.line(n):
            if isinstance(n.value, Call) and n.value.op is RET:
                self.out.write("return ")
                self.expr(n.value.args[0])
            elif isinstance(n.value, Call):
                self.expr(n.value)
            else:
                self._call("T.evaluate", n.value)

    def visit_Prefetch(self, n: Prefetch, last: bool) -> None:
        with self.line(n):
            self.out.write(f"T.prefetch({self.name_of(n.buffer)}, [")
            for index, bound in enumerate(n.bounds):
                self.out.write(", " if index else "")
                self._range("T", bound)
            self.out.write("])")

    # statements that hold for a body

    def _hold(
        self, n: Holding, last: bool, header: Callable[[Holding], None], define: Var | Buffer | None = None
    ) -> None:
        """Write ``define = header`` above the rest of the block, or a block ``with header as define:``."""
        if last:
            with self.line(n):
                if define is not None:
                    self.out.write(f"{self._defined(define)} = ")
                header(n)
            self.body(n.body, True)
            return
        with self.names.scope():
            with self.line(n):
                name = None if define is None else self._defined(define)
                self.out.write("with ")
                header(n)
                self.out.write(":" if name is None else f" as {name}:")
            with self.out.indented():
                self.body(n.body, True)

    def _defined(self, what: Var | Buffer) -> str:
        return self.declare(what) if isinstance(what, Buffer) else self.names.define(what, what.name)

    def visit_LetStmt(self, n: tir.LetStmt, last: bool) -> None:
        declared = self.names.get(n.var)
        if declared is not None:
            with self.line(n):
                self.out.write("with ")
                self._call("T.LetStmt", n.value, f"var={declared}")
                self.out.write(":")
            self.block(n.body)
            return
        if not last:
            typed = [handle_text(n.var)] if isinstance(n.var.type_annotation, PointerType) else []
            self._hold(n, last, lambda let: self._call("T.LetStmt", let.value, *typed), n.var)
            return
        with self.line(n):
            self.out.write(f"{self.names.define(n.var, n.var.name)}: {handle_text(n.var)} = ")
            self.expr(n.value)
        self.body(n.body, True)

    def visit_Allocate(self, n: tir.Allocate, last: bool) -> None:
        if isinstance(n.body, tir.DeclBuffer) and _is_declared_memory(n, n.body):
            self.visit_DeclBuffer(n.body, last)
            return
        self._hold(n, last, self._allocation, n.buffer_var)

    def _allocation(self, n: tir.Allocate) -> None:
        scope = pointer_scope(n.buffer_var)
        self.out.write("T.allocate([")
        self.sequence(n.extents)
        self.out.write(f'], "{n.dtype}", "{scope}"')
        self._condition(n)
        self._annotations(n.annotations)
        self.out.write(")")

    def visit_AllocateConst(self, n: tir.AllocateConst, last: bool) -> None:
        self._hold(n, last, self._constant_memory, n.buffer_var)

    def _constant_memory(self, n: tir.AllocateConst) -> None:
        self.out.write("T.allocate_const(")
        if n.data is None:
            self.out.write(str(n.irmod_storage_idx))
        else:
            texts = [float_text(v) if isinstance(v, float) else str(int(v)) for v in n.data.view().reshape(-1).tolist()]
            self.out.write(f"[{', '.join(texts)}]")
        self.out.write(f', "{n.dtype}", [')
        self.sequence(n.extents)
        self.out.write("]")
        self._annotations(n.annotations)
        self.out.write(")")

    def visit_AttrStmt(self, n: tir.AttrStmt, last: bool) -> None:
        if isinstance(n.node, IterVar) and n.attr_key in THREAD_KEYS:
            tag = string_text(n.node.thread_tag)
            self._hold(n, last, lambda attr: self._call("T.launch_thread", tag, attr.value), n.node.var)
        elif (scope := _scope_of_realized(n)) is not None and isinstance(n.body, BufferRealize):
            self._hold(n.body, last, lambda realize: self._realization("T.realize(", realize.buffer, realize, scope))
        else:
            self._hold(n, last, self._attribute)

    def _attribute(self, n: tir.AttrStmt) -> None:
        self.out.write("T.attr(")
        self.value(n.node)
        self.out.write(f", {string_text(n.attr_key)}, ")
        self.value(n.value)
        self.out.write(")")

    def visit_AssertStmt(self, n: tir.AssertStmt, last: bool) -> None:
        self._hold(n, last, self._assertion if last else lambda a: self._call("T.Assert", a.condition, a.message))

    def _assertion(self, n: tir.AssertStmt) -> None:
        self.out.write("assert ")
        self.expr(n.condition)
        self.out.write(", ")
        self.expr(n.message)

    def visit_BufferRealize(self, n: BufferRealize, last: bool) -> None:
        self._hold(n, last, lambda realize: self._realization("T.realize(", realize.buffer, realize))

    def visit_ProducerRealize(self, n: ProducerRealize, last: bool) -> None:
        self._hold(n, last, lambda realize: self._realization("T.ProducerRealize(", realize.producer, realize))

    def _realization(
        self, function: str, target: Named, n: BufferRealize | ProducerRealize, scope: str | None = None
    ) -> None:
        self.out.write(function)
        self.region(target, n.bounds)
        if scope is not None:
            self.out.write(", " + string_text(scope))
        elif isinstance(n, ProducerRealize) and not is_const_int(n.condition, 1):
            self.out.write(', ""')
        elif not is_const_int(n.condition, 1):
            self.out.write(", condition=")
            self.expr(n.condition)
            self.out.write(")")
            return
        self._condition(n)
        self.out.write(")")

    def _condition(self, n: tir.Allocate | BufferRealize | ProducerRealize) -> None:
        if not is_const_int(n.condition, 1):
            self.out.write(", ")
            self.expr(n.condition)

    def visit_DeclBuffer(self, n: tir.DeclBuffer, last: bool) -> None:
        self._hold(n, last, self._declaration, n.buffer)

    def _declaration(self, n: tir.DeclBuffer) -> None:
        self.out.write("T.decl_buffer(")
        self.buffer_arguments(n.buffer)
        self.out.write(")")


def _is_declared_memory(n: tir.Allocate, declared: tir.DeclBuffer) -> bool:
    """Return whether memory is allocated just as reading ``T.decl_buffer`` without ``data`` does."""
    buffer = declared.buffer
    pointer = n.buffer_var.type_annotation
    return (
        buffer.data is n.buffer_var
        and isinstance(pointer, PointerType)
        and pointer.element_type == PrimType(buffer.dtype)
        and buffer.dtype == n.dtype
        and structural_equal(n.extents, buffer.shape)
        and is_const_int(n.condition, 1)
        and not n.annotations
    )


def _scope_of_realized(n: tir.AttrStmt) -> str | None:
    """Return what an attribute says about where the buffer exists that the statement within realizes, if it does."""
    if n.attr_key != REALIZE_SCOPE or not isinstance(n.value, StringImm):
        return None
    return n.value.value if isinstance(n.body, BufferRealize) and n.body.buffer is n.node else None


def _plain(loop: For) -> bool:
    return loop.kind is ForKind.SERIAL and not loop.annotations and is_const_int(loop.min, 0)
