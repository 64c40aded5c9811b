"""Translation of functions to Python source, for the interpreter.

Variables become local variables, loops become loops.  An access of a single element is written out with its check; all
others, and those whose check fails, go through :class:`~compiler.tir.statements.memory.Access`.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import ClassVar, TypeVar

from compiler.ir import dtype as dt
from compiler.ir.error import BoundError, BuildError, counted
from compiler.ir.expr.primexpr import IntImm, IterVar, PrimExpr, Ramp, Var, const, is_const_int
from compiler.ir.node import rebuild
from compiler.tir.expressions.evaluation import Array, ElementType, Values, numpy_dtype
from compiler.tir.printing.python_expression import PythonExpression
from compiler.tir.statements import memory
from compiler.tir.statements import stmt as tir
from compiler.tir.statements.block import (
    Block,
    BlockRealize,
    MatchBufferRegion,
    element_of,
    matched_values,
    memory_extents,
    reduction_begins,
)
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion
from compiler.tir.statements.producer_stmt import BufferRealize, Prefetch
from compiler.tir.statements.stmt import THREAD_KEYS, Stmt, seq

MAX_NESTED_LOOPS = 15
"""Python allows 20 nested blocks; deeper loops become functions of their own."""


class PythonSource(PythonExpression):
    """The source of one function, written statement by statement."""

    generates: ClassVar[bool] = False
    """Whether the functions are generators."""

    def __init__(self, fixed: Values) -> None:
        super().__init__(fixed)
        self._memory: dict[Var, tuple[str, ElementType, int | None, bool]] = {}
        """The memory behind each pointer: its name, element type, size if known, and whether it is local."""
        self._boxes: dict[Buffer, str] = {}
        """The buffers that hold a box of their elements, by the name of their memory."""
        self._matched: dict[Buffer, BufferRegion] = {}
        """The buffers that stand for regions of others."""
        self._loops = 0

    def memory_of(self, pointer: PrimExpr) -> str:
        name = self._memory[pointer][0] if isinstance(pointer, Var) and pointer in self._memory else None
        if name is None:
            raise BuildError(f"interpret: {pointer} does not point to memory of this function")
        return f"D{name}, W{name}"

    def add_memory(self, pointer: Var, data: Array) -> None:
        """Let a pointer stand for an array all of whose elements are written."""
        name = self._fresh("m")
        self.constants[f"D{name}"], self.constants[f"W{name}"] = data, None
        self._memory[pointer] = (name, data.dtype, data.size, False)

    def function(self, body: Stmt) -> Callable[[], None]:
        """Return the statement as a function."""
        self.visit(body)
        head = f"def program({', '.join(self.constants)}):\n"
        source = head + "\n".join(self.lines or [" pass"])
        scope: dict[str, Callable[..., None]] = {}
        exec(compile(source, "<interpreted program>", "exec"), scope)
        return lambda: scope["program"](**self.constants)

    @contextmanager
    def _block(self, head: str) -> Iterator[None]:
        self._line(head)
        self._indent += 1
        before = len(self.lines)
        yield
        if len(self.lines) == before:
            self._line("pass")
        self._indent -= 1

    # Memory

    def visit_BufferLoad(self, n: BufferLoad) -> str:
        source = self._matched.get(n.buffer)
        if source is not None:
            load = rebuild(n, buffer=source.buffer, indices=element_of(source, n.indices))
            return self.visit(load)
        data, written, view, access = self._place(n.buffer, n.indices, str(n))
        if n.predicate is not None:
            mask = self._mask(n)
            return f"{access}.read_where({data}, {written}, {view}, {self._tuple(n.indices)}, {mask})"
        if dt.lanes(n.dtype) > 1:
            first = self._row(n.buffer, n.indices)
            if first is not None:
                return f"{access}.read_row({data}, {written}, {view}, {first}, {dt.lanes(n.dtype)})"
            return f"{access}.read({data}, {written}, {view}, {self._tuple(n.indices)})"
        fast = self._check(n.buffer, n.indices)
        if fast is None:
            return f"{access}.read({data}, {written}, {view}, {self._tuple(n.indices)})"
        inside, flat, indices = fast
        if written != "None":
            inside += f" and {written}[{flat}]"
        element = f"{data}.item({flat})" if dt.is_integral(n.dtype) else f"{data}[{flat}]"
        return f"({element} if {inside} else {access}.read({data}, {written}, {view}, ({indices},)))"

    def visit_BufferStore(self, n: tir.BufferStore) -> None:
        source = self._matched.get(n.buffer)
        if source is not None:
            self.visit(rebuild(n, buffer=source.buffer, indices=element_of(source, n.indices)))
            return
        value = self._fresh("t")
        self._line(f"{value} = {self.visit(n.value)}")
        self._store(n, value)

    def _store(self, n: tir.BufferStore, value: str) -> None:
        """Write the store of a value that has a name."""
        data, written, view, access = self._place(n.buffer, n.indices, "")
        if n.predicate is not None:
            mask = self._mask(n)
            indices = self._tuple(n.indices)
            self._line(f"{access}.write_where({data}, {written}, {view}, {indices}, {mask}, {value})")
            return
        if dt.lanes(n.value.dtype) > 1:
            first = self._row(n.buffer, n.indices)
            if first is not None:
                lanes = dt.lanes(n.value.dtype)
                self._line(f"{access}.write_row({data}, {written}, {view}, {first}, {lanes}, {value})")
                return
        fast = self._check(n.buffer, n.indices)
        if fast is None or dt.lanes(n.value.dtype) > 1:
            self._line(f"{access}.write({data}, {written}, {view}, {self._tuple(n.indices)}, {value})")
            return
        inside, flat, indices = fast
        place = self._fresh("t")
        self._line(f"if {inside}:")
        self._line(f" {place} = {flat}")
        self._line(f" {data}[{place}] = {value}")
        if written != "None":
            self._line(f" {written}[{place}] = 1")
        self._line("else:")
        self._line(f" {access}.write({data}, {written}, {view}, ({indices},), {value})")

    def _mask(self, n: BufferLoad | tir.BufferStore) -> str:
        """Return Python for the predicate of an access."""
        assert n.predicate is not None
        if dt.lanes(n.buffer.dtype) != 1 or dt.lanes(n.predicate.dtype) < 2:
            raise BuildError(f"interpret: only vectors of scalar elements have predicates, got {n}")
        return self.visit(n.predicate)

    def _place(self, buffer: Buffer, indices: tuple[PrimExpr, ...], text: str) -> tuple[str, str, str, str]:
        """Return Python for the memory, what was written of it, the view, and the access."""
        if len(indices) != len(buffer.shape):
            raise BoundError(
                f"interpret: {buffer.name} has {counted(len(buffer.shape), 'dimension')}, "
                f"got {counted(len(indices), 'index', 'indices')}"
            )
        place = self._memory.get(buffer.data)
        if place is None:
            raise BuildError(f"interpret: the buffer {buffer.name} has no memory")
        name, _, _, local = place
        access = self._constant(self._access_of(buffer, tuple(i.dtype for i in indices), text))
        return f"D{name}", f"W{name}" if local else "None", self._view(buffer), access

    def _access_of(self, buffer: Buffer, index_dtypes: tuple[str, ...], text: str) -> memory.Access:
        return memory.Access(buffer, index_dtypes, text)

    def _view(self, buffer: Buffer) -> str:
        box = self._boxes.get(buffer)
        if box is not None:
            return f"V{box}"
        constant = _constant_view(buffer)
        if constant is not None:
            return self._constant(constant)
        shape, strides = self._tuple(buffer.shape), self._tuple(buffer.strides)
        return f"layout({shape}, {strides}, {self.visit(buffer.elem_offset)})"

    def _row(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> str | None:
        """Return Python for the first of neighbouring elements of a plain vector, None for any other access."""
        index = indices[0] if len(indices) == 1 else None
        if not isinstance(index, Ramp) or not is_const_int(index.stride, 1) or dt.lanes(index.base.dtype) > 1:
            return None
        if buffer in self._boxes or not self._is_plain(buffer):
            return None
        return self.visit(index.base)

    def _is_plain(self, buffer: Buffer) -> bool:
        """Return whether the layout is known here, and all of it lies in memory of the buffer's type."""
        _, kind, size, _ = self._memory[buffer.data]
        if kind != numpy_dtype(buffer.dtype) or dt.lanes(buffer.dtype) > 1:
            return False
        if buffer in self._boxes:
            return True
        view = _constant_view(buffer)
        return (
            view is not None
            and size is not None
            and view.stride == memory.compact(view.extent)
            and (view.offset == 0 and math.prod(view.extent) <= size)
        )

    def _check(self, buffer: Buffer, indices: tuple[PrimExpr, ...]) -> tuple[str, str, str] | None:
        """Write the check of an access of one element: the condition, the place in memory, the indices again."""
        if not self._is_plain(buffer) or not indices:
            return None
        names = [self._fresh("t") for _ in indices]
        tests, place = [], []
        constant = _constant_view(buffer)
        box = self._boxes.get(buffer)
        for d, (name, index) in enumerate(zip(names, indices, strict=True)):
            value = f"({name} := {self._sum(index)})"
            if box is not None:
                tests.append(f"(L{box}_{d} <= {value} < H{box}_{d})")
                place.append(f"({name} - L{box}_{d}) * S{box}_{d}")
            else:
                assert constant is not None
                tests.append(f"(0 <= {value} < {constant.extent[d]})")
                place.append(f"{name} * {constant.stride[d]}" if constant.stride[d] != 1 else name)
        return " & ".join(tests), " + ".join(place), ", ".join(names)

    # Statements: each rule adds lines

    def visit_Stmt(self, n: Stmt) -> None:
        raise BuildError(f"interpret: {type(n).__name__} cannot be run")

    def visit_BufferRealize(self, n: BufferRealize) -> None:
        if n.buffer.data in self._memory and n.buffer not in self._boxes:
            self.visit(n.body)  # a parameter: its memory exists already
            return
        box, rank = self._fresh("m"), len(n.bounds)
        low, extent = self._tuple(tuple(r.min for r in n.bounds)), self._tuple(tuple(r.extent for r in n.bounds))
        self._line(f"V{box} = box({low}, {extent})")
        for d in range(rank):
            self._line(f"L{box}_{d} = V{box}.low[{d}]; H{box}_{d} = L{box}_{d} + V{box}.extent[{d}]")
            self._line(f"S{box}_{d} = V{box}.stride[{d}]")
        kind = numpy_dtype(n.buffer.dtype)
        self._line(f"D{box}, W{box} = new_memory(prod(V{box}.extent), {self._constant(kind)})")
        outer = self._boxes.get(n.buffer), self._memory.get(n.buffer.data)
        self._boxes[n.buffer], self._memory[n.buffer.data] = box, (box, kind, None, True)
        self.visit(n.body)
        _restore(self._boxes, n.buffer, outer[0])
        _restore(self._memory, n.buffer.data, outer[1])

    def visit_Allocate(self, n: tir.Allocate) -> None:
        name, kind, lanes = self._fresh("m"), numpy_dtype(n.dtype), dt.lanes(n.dtype)
        size = math.prod(e.value for e in n.extents if isinstance(e, IntImm)) * lanes
        constant = all(isinstance(e, IntImm) for e in n.extents)
        count = str(size) if constant else f"prod({self._tuple(n.extents)}) * {lanes}"
        self._line(f"D{name}, W{name} = new_memory({count}, {self._constant(kind)})")
        outer = self._memory.get(n.buffer_var)
        self._memory[n.buffer_var] = (name, kind, size if constant else None, True)
        self.visit(n.body)
        _restore(self._memory, n.buffer_var, outer)

    def visit_AllocateConst(self, n: tir.AllocateConst) -> None:
        if n.data is None:
            raise BuildError(f"interpret: the contents of {n.buffer_var.name} are constants of its module")
        outer = self._memory.get(n.buffer_var)
        self.add_memory(n.buffer_var, n.data.view().reshape(-1))
        self.visit(n.body)
        _restore(self._memory, n.buffer_var, outer)

    def visit_DeclBuffer(self, n: tir.DeclBuffer) -> None:
        self.visit(n.body)

    def visit_BlockRealize(self, n: BlockRealize) -> None:
        with self._block(f"if {self.visit(n.predicate)}:"):
            for axis, value in zip(n.block.iter_vars, n.iter_values, strict=True):
                self._line(f"{self._name(axis.var)} = {self.visit(value)}")
            self.visit(n.block)

    def visit_Block(self, n: Block) -> None:
        for match in n.match_buffers:
            self._match(match)
        body = n.body
        if n.init is not None:
            begins = reduction_begins(n)
            body = seq([n.init if begins is None else tir.IfThenElse(begins, n.init), body])
        for buffer in n.alloc_buffers:
            body = tir.Allocate(buffer.data, buffer.dtype, memory_extents(buffer), const(True, "bool"), body)
        self.visit(body)

    def _match(self, match: MatchBufferRegion) -> None:
        """Let a buffer stand for a region; the variables of its layout get their values."""
        self._matched[match.buffer] = match.source
        for var, value in matched_values(match).items():
            if isinstance(value, Var) and value in self._memory:
                self._memory[var] = self._memory[value]
            else:
                self._line(f"{self._name(var)} = {self.visit(value)}")

    def visit_LetStmt(self, n: tir.LetStmt) -> None:
        value = self.visit(n.value)
        self._line(f"{self._name(n.var)} = {value}")
        self.visit(n.body)

    def visit_AttrStmt(self, n: tir.AttrStmt) -> None:
        is_thread = n.attr_key in THREAD_KEYS and isinstance(n.node, IterVar)
        if is_thread and n.node.var not in self._names:
            self._loop(n.node.var, f"range({self.visit(n.value)})", n.body)
            del self._names[n.node.var]
        else:
            self.visit(n.body)

    def visit_For(self, n: tir.For) -> None:
        extent = self.visit(n.extent)
        if is_const_int(n.min, 0):
            self._loop(n.loop_var, f"range({extent})", n.body)
        else:
            first = self._fresh("t")
            self._line(f"{first} = {self.visit(n.min)}")
            self._loop(n.loop_var, f"range({first}, {first} + {extent})", n.body)

    def _loop(self, var: Var, values: str, body: Stmt) -> None:
        with self._nesting(), self._block(f"for {self._name(var)} in {values}:"):
            self.visit(body)

    @contextmanager
    def _nesting(self) -> Iterator[None]:
        """Open a function for the loop that comes where Python allows no more of them."""
        outer = self._loops
        if self._loops < MAX_NESTED_LOOPS:
            self._loops += 1
            yield
        else:
            name = self._fresh("f")
            self._loops = 1
            with self._block(f"def {name}():"):
                yield
                if self.generates:
                    self._line("return")
                    self._line("yield")
            self._line(f"yield from {name}()" if self.generates else f"{name}()")
        self._loops = outer

    def visit_While(self, n: tir.While) -> None:
        with self._nesting(), self._block("while True:"):
            self._line(f"if not {self.visit(n.condition)}: break")
            self.visit(n.body)

    def visit_SeqStmt(self, n: tir.SeqStmt) -> None:
        for stmt in n.seq:
            self.visit(stmt)

    def visit_IfThenElse(self, n: tir.IfThenElse) -> None:
        with self._block(f"if {self.visit(n.condition)}:"):
            self.visit(n.then_case)
        if n.else_case is not None:
            with self._block("else:"):
                self.visit(n.else_case)

    def visit_AssertStmt(self, n: tir.AssertStmt) -> None:
        self._line(f"if not {self.visit(n.condition)}: fail({self.visit(n.message)})")
        self.visit(n.body)

    def visit_Evaluate(self, n: tir.Evaluate) -> None:
        self._line(self.visit(n.value))

    def visit_Prefetch(self, n: Prefetch) -> None:
        return


def _constant_view(buffer: Buffer) -> memory.View | None:
    """Return the layout of a buffer if it is made of constants."""
    parts = (*buffer.shape, *buffer.strides, buffer.elem_offset)
    values = [e.value for e in parts if isinstance(e, IntImm)]
    if len(values) < len(parts):
        return None
    rank = len(buffer.shape)
    return memory.layout(values[:rank], values[rank:-1], values[-1])


_Key = TypeVar("_Key")
_Entry = TypeVar("_Entry")


def _restore(table: dict[_Key, _Entry], key: _Key, outer: _Entry | None) -> None:
    if outer is None:
        del table[key]
    else:
        table[key] = outer
