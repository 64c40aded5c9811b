"""Well-formedness of functions."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from compiler.ir.error import ArgumentError
from compiler.ir.expr.primexpr import IterVar, Let, Var
from compiler.ir.functor import Visitor
from compiler.ir.module import IRModule
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.producer_stmt import BufferRealize
from compiler.tir.statements.stmt import THREAD_KEYS, Allocate, AllocateConst, AttrStmt, DeclBuffer, For, LetStmt, Stmt


def verify_well_formed(obj: PrimFunc | IRModule, assert_mode: bool = True) -> bool:
    """Return whether every variable and buffer is defined once, before it is used.

    A block with axes uses no variable of a loop around it: it sees loops through the values of its axes only.  A
    function may launch a thread axis several times. Raises ArgumentError if something is wrong and ``assert_mode`` is
    set.
    """
    functions = [obj] if isinstance(obj, PrimFunc) else [f for _, f in obj.items() if isinstance(f, PrimFunc)]
    scopes = _Scopes()
    for func in functions:
        scopes.check(func)
    if scopes.fault and assert_mode:
        raise ArgumentError(f"verify_well_formed: {scopes.fault}")
    return not scopes.fault


class _Scopes(Visitor):
    """Walks a function with the variables that are defined where it is."""

    def __init__(self) -> None:
        self.fault = ""
        self._defined: dict[Var | Buffer, bool] = {}
        self._threads: set[Var] = set()
        self._loops: dict[Var, Block | None] = {}
        self._block: Block | None = None

    def check(self, func: PrimFunc) -> None:
        """Walk a function; those of a module share no variables."""
        self._threads = set()
        self._define(func.params)
        for buffer in func.buffer_map.values():
            self._define_buffer(buffer, True)
        self.visit(func.body)

    def _complain(self, fault: str) -> None:
        self.fault = self.fault or fault

    def _define(self, variables: Iterable[Var | Buffer]) -> None:
        for var in variables:
            if var in self._defined and var not in self._threads:
                again = "within its own scope again" if self._defined[var] else "twice"
                self._complain(f"{var.name!r} is defined {again}")
            self._defined[var] = True

    @contextmanager
    def _scope(self, *variables: Var | Buffer) -> Iterator[None]:
        self._define(variables)
        yield
        for var in variables:
            self._defined[var] = False

    def _define_buffer(self, buffer: Buffer, with_layout: bool) -> None:
        """Define a buffer; its pointer and the variables of its layout too, where nothing else does."""
        for e in (buffer.data, *buffer.shape, *buffer.strides, buffer.elem_offset):
            if with_layout and isinstance(e, Var):
                self._defined[e] = True
            else:
                self.visit(e)
        self._defined[buffer] = True

    def visit_Var(self, n: Var) -> None:
        if not self._defined.get(n):
            outside = " after its scope has ended" if n in self._defined else ""
            self._complain(f"variable {n.name!r} is used but not defined{outside}")
        elif self._loops.get(n, self._block) is not self._block and self._block is not None:
            self._complain(
                f"loop variable {n.name!r} is defined outside of block {self._block.name_hint!r}, which has axes, and "
                "used inside"
            )

    def visit_For(self, n: For) -> None:
        self.visit(n.min)
        self.visit(n.extent)
        self._loops[n.loop_var] = self._block
        with self._scope(n.loop_var):
            self.visit(n.body)

    def visit_LetStmt(self, n: LetStmt | Let) -> None:
        self.visit(n.value)
        with self._scope(n.var):
            self.visit(n.body)

    visit_Let = visit_LetStmt

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        self.visit(n.value)
        if n.attr_key in THREAD_KEYS and isinstance(n.node, IterVar):
            outer = self._defined.get(n.node.var, False)
            if n.node.var not in self._threads:
                self._define((n.node.var,))
            self._threads.add(n.node.var)
            self._defined[n.node.var] = True
            self.visit(n.body)
            self._defined[n.node.var] = outer
        else:
            self.visit(n.body)

    def visit_Allocate(self, n: Allocate) -> None:
        for extent in (*n.extents, n.condition):
            self.visit(extent)
        with self._scope(n.buffer_var):
            self.visit(n.body)

    def visit_AllocateConst(self, n: AllocateConst) -> None:
        with self._scope(n.buffer_var):
            self.visit(n.body)

    def visit_DeclBuffer(self, n: DeclBuffer) -> None:
        self._define_buffer(n.buffer, False)
        self._body(n.buffer, n.body)

    def visit_BufferRealize(self, n: BufferRealize) -> None:
        self._define_buffer(n.buffer, True)
        self._body(n.buffer, n.body)

    def _body(self, buffer: Buffer, body: Stmt) -> None:
        self.visit(body)
        self._defined[buffer] = False

    def visit_BlockRealize(self, n: BlockRealize) -> None:
        for value in (*n.iter_values, n.predicate):
            self.visit(value)
        self.visit(n.block)

    def visit_Block(self, n: Block) -> None:
        around = self._block
        if n.iter_vars:
            self._block = n
        with self._scope(*[axis.var for axis in n.iter_vars]):
            for buffer in n.alloc_buffers:
                self._define_buffer(buffer, True)
            for match in n.match_buffers:
                self.visit(match.source)
                self._define_buffer(match.buffer, True)
            for region in (*n.reads, *n.writes):
                self.visit(region)
            for stmt in (n.init, n.body):
                if stmt is not None:
                    self.visit(stmt)
        self._block = around

    def visit_BufferLoad(self, n: BufferLoad | BufferStore) -> None:
        self._access(n.buffer)
        self.visit_Node(n)

    visit_BufferStore = visit_BufferLoad

    def _access(self, buffer: Buffer) -> None:
        if buffer in self._defined:
            if not self._defined[buffer]:
                self._complain(f"buffer {buffer.name!r} is used after its scope has ended")
        else:
            self.visit(buffer.data)  # another view of memory that exists
