"""Parsing of the blocks of a TVMScript function."""

from __future__ import annotations

import ast
import inspect
from abc import abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from compiler.ir import dtype as dt
from compiler.ir.error import show
from compiler.ir.expr.primexpr import Broadcast, Call, IterVar, PrimExpr, Range, Var, cast, const, convert, is_const_int
from compiler.ir.node import rebuild
from compiler.ir.types import PointerType, PrimType
from compiler.tir.analysis.block_access import get_block_access_region
from compiler.tir.expressions.builtin import IF_THEN_ELSE
from compiler.tir.script import expression_words
from compiler.tir.script.blocks import AxisDeclaration, BlockFact, BlockScope
from compiler.tir.script.expressions import Expressions
from compiler.tir.script.operators import Value
from compiler.tir.statements.block import Block, BlockRealize, MatchBufferRegion
from compiler.tir.statements.buffer import Buffer, BufferLoad, BufferRegion, BufferStore
from compiler.tir.statements.decl_buffer import decl_buffer
from compiler.tir.statements.stmt import IfThenElse, Stmt


class PointerAccess(Expressions):
    """Reads accesses through pointers: elements of flat views of the memory, one for each pointer and type."""

    def begin_pointers(self) -> None:
        """Forget the memory of the function before."""
        self.buffer_of_pointer: dict[Var, Buffer] = {}
        self._views: dict[tuple[Var, str], Buffer] = {}
        self._extents: dict[Var, tuple[PrimExpr, ...]] = {}

    def declare_memory(self, pointer: object, extents: tuple[PrimExpr, ...]) -> None:
        """Note how much memory a pointer points to."""
        if isinstance(pointer, Var) and extents:
            self._extents[pointer] = extents

    def declare_buffer(self, buffer: Buffer) -> None:
        """Note a buffer, so that it is known by its pointer."""
        self.buffer_of_pointer.setdefault(buffer.data, buffer)

    def is_view(self, buffer: Buffer) -> bool:
        """Return whether a buffer is a view of memory that was made for accesses through its pointer."""
        return any(buffer is view for view in self._views.values())

    def behind_pointer(self, n: ast.AST, pointer: Var, index: PrimExpr, dtype: str | None) -> BufferLoad:
        if not isinstance(pointer, Var):
            raise self.source.error(n, f"expected a pointer, such as A.data, got {show(pointer)}")
        if pointer.dtype != "handle":
            raise self.source.error(n, f"{pointer.name!r} is not a pointer but a variable of {pointer.dtype}")
        return BufferLoad(self._view(n, pointer, dtype), (index,))

    def stored_behind_pointer(self, n: ast.AST, pointer: Var, index: PrimExpr, value: PrimExpr) -> BufferLoad:
        """Return the element that a store to a pointer changes: of the type of the value where the pointer has none."""
        typed = isinstance(pointer.type_annotation, PointerType) or pointer in self.buffer_of_pointer
        return self.behind_pointer(n, pointer, index, None if typed else dt.element(value.dtype))

    def _view(self, n: ast.AST, pointer: Var, dtype: str | None) -> Buffer:
        """Return the flat view of what a pointer points to: the buffer itself where that is flat."""
        kind = pointer.type_annotation
        pointee = kind.element_type if isinstance(kind, PointerType) else None
        element = dtype or (dt.element(pointee.dtype) if isinstance(pointee, PrimType) else None)
        if element is None:
            what = f"{pointer.name!r} is a pointer to elements of unknown type"
            raise self.source.error(n, f"{what}: declare `T.Buffer(…, data={pointer.name})`")
        declared = self.buffer_of_pointer.get(pointer)
        if declared is not None and declared.dtype == element and _is_flat(declared):
            return declared
        view = self._views.get((pointer, element))
        if view is None:
            size: PrimExpr = const(1)
            for dim in self._extents.get(pointer, ()) if declared is None else declared.shape:
                size = dim if is_const_int(size, 1) else size * dim
            view = self._views[pointer, element] = decl_buffer((size,), element, pointer.name, data=pointer)
        return view

    def pointer_access(
        self, n: ast.AST, word: Callable[..., object], args: Sequence[object], options: Mapping[str, object]
    ) -> Value:
        bound = inspect.signature(word).bind(*args, **options)
        bound.apply_defaults()
        given = bound.arguments
        index, condition = convert(given["index"]), convert(given["predicate"])
        if isinstance(condition, Broadcast):
            condition = condition.value
        always = is_const_int(condition) and not is_const_int(condition, 0)
        if word is expression_words.load:
            element = self.behind_pointer(n, given["var"], index, dt.element(given["dtype"]))
            zero = const(0, element.dtype)
            return element if always else Call(element.dtype, IF_THEN_ELSE, (condition, element, zero))
        value = convert(given["value"])
        target = self.stored_behind_pointer(n, given["var"], index, value)
        store = BufferStore(target.buffer, cast(target.dtype, value), target.indices)
        return store if always else IfThenElse(condition, store)


def _is_flat(buffer: Buffer) -> bool:
    return len(buffer.shape) == 1 and not buffer.strides and is_const_int(buffer.elem_offset, 0)


_WORDS = {"reads": "T.reads", "writes": "T.writes", "predicate": "T.where", "annotations": "T.block_attr"}


@dataclass
class _Signature:
    """What is read so far of the block that is open."""

    # its axes, and what they stand for
    axes: list[IterVar] = field(default_factory=list)
    values: list[PrimExpr] = field(default_factory=list)
    facts: dict[str, Value] = field(default_factory=dict)  # what it says about itself, by the part of the signature
    init: Stmt | None = None
    alloc_buffers: list[Buffer] = field(default_factory=list)
    match_buffers: list[MatchBufferRegion] = field(default_factory=list)


class BlockStatements(PointerAccess):
    """Reads blocks; buffers that are allocated outside of any belong to the root block of the function."""

    buffer_map: dict[Var, Buffer]
    _function: ast.AST

    def begin_blocks(self, function: ast.AST) -> None:
        """Forget the blocks of the function before; ``function`` is what is read now."""
        self._function = function
        self._root = _Signature()
        self._open: list[_Signature] = []
        self.begin_pointers()
        self._loop_ranges: dict[Var, Range] = {}
        self._inferred: set[Block] = set()
        self._has_blocks = False

    @abstractmethod
    def sequence(self, body: Sequence[ast.stmt]) -> Stmt:
        """Return statements as one."""

    @property
    def signature(self) -> _Signature:
        """The signature of the innermost block that is open, or of the root block."""
        return self._open[-1] if self._open else self._root

    def loop_range(self, var: Var, extent: Range) -> None:
        """Note what the variable of a loop runs over, for the axes that are bound to it."""
        self._loop_ranges[var] = extent

    def read_block(self, n: ast.With, scope: BlockScope, target: ast.expr | None) -> Stmt:
        """Return the realization of a block, or the block itself where it says that it has none."""
        if target is not None and not (isinstance(target, ast.List) and not target.elts):
            raise self.source.error(target, "a block has no value; declare its axes with T.axis")
        self._has_blocks = True
        signature = _Signature()
        self._open.append(signature)
        try:
            with self.scope():
                body = self.sequence(n.body)
        finally:
            self._open.pop()
        block = self._completed(self._block(signature, scope.name, body), signature.facts)
        if scope.no_realize:
            return block
        predicate = signature.facts.get("predicate", const(True, "bool"))
        return BlockRealize(tuple(signature.values), predicate, block)

    def _block(self, signature: _Signature, name: str, body: Stmt) -> Block:
        facts = signature.facts
        return Block(
            tuple(signature.axes),
            facts.get("reads", ()),
            facts.get("writes", ()),
            name,
            body,
            signature.init,
            tuple(signature.alloc_buffers),
            tuple(signature.match_buffers),
            facts.get("annotations", {}),
        )

    def _completed(self, block: Block, facts: Mapping[str, object]) -> Block:
        """Return the block with the regions that its signature leaves out."""
        missing = [part for part in ("reads", "writes") if part not in facts]
        if not missing:
            return block
        is_root = not self._open and not block.iter_vars
        reads, writes, opaque = get_block_access_region(block, self.buffer_of_pointer)
        if opaque and not is_root:
            what = f"block {block.name_hint!r} uses {opaque[0].buffer.name!r} by its pointer"
            raise self.source.error(self._function, f"{what}: declare what it accesses with T.reads and T.writes")
        hidden = next((r.buffer for r in (*reads, *writes) if self.is_view(r.buffer)), None)
        if hidden is not None and not is_root:
            what = f"block {block.name_hint!r} uses {hidden.name!r} by its pointer"
            raise self.source.error(self._function, f"{what}: declare what it accesses with T.reads and T.writes")
        regions = {"reads": tuple(reads), "writes": tuple(writes)}
        completed = rebuild(block, **{part: regions[part] for part in missing})
        if is_root:
            self._inferred.add(completed)
        return completed

    def with_root(self, body: Stmt) -> Stmt:
        """Return the body of a function with the root block that blocks and allocated buffers need."""
        allocated = tuple(self._root.alloc_buffers)
        is_root = isinstance(body, BlockRealize) and not body.block.iter_vars
        if not allocated and (is_root or not self._has_blocks):
            return self._plain_root(body) if isinstance(body, BlockRealize) else body
        return BlockRealize((), const(True, "bool"), Block((), (), (), "root", body, None, allocated))

    def _plain_root(self, body: BlockRealize) -> Stmt:
        """Return a root block without regions that were not written: it accesses what the function does."""
        if body.block not in self._inferred:
            return body
        return rebuild(body, block=rebuild(body.block, reads=(), writes=()))

    # the signature

    def state(self, n: ast.AST, fact: BlockFact) -> None:
        """Note what a block says about itself."""
        facts = self._inside(n, _WORDS[fact.field]).facts
        if fact.field in facts:
            raise self.source.error(n, f"a block may have {_WORDS[fact.field]} only once")
        facts[fact.field] = fact.value

    def read_init(self, n: ast.With) -> None:
        """Read what a block does before the first iteration of its reduction axes."""
        signature = self._inside(n, "T.init")
        if signature.init is not None:
            raise self.source.error(n, "a block may have only one T.init")
        with self.scope():
            signature.init = self.sequence(n.body)

    def _inside(self, n: ast.AST, word: str) -> _Signature:
        if not self._open:
            raise self.source.error(n, f"{word} must be in a block")
        return self._open[-1]

    def declare_axis(self, n: ast.AST, name: str, declared: AxisDeclaration) -> None:
        """Add an axis to the block that is open."""
        signature = self._inside(n, "T.axis")
        if any(axis.var.name == name for axis in signature.axes):
            raise self.source.error(n, f"the block already has an axis {name!r}")
        var = self.names[name] = Var(name, declared.value.dtype)
        dom = declared.dom or self._domain_of_loop(n, declared.value)
        signature.axes.append(IterVar(dom, var, declared.iter_type))
        signature.values.append(declared.value)

    def _domain_of_loop(self, n: ast.AST, value: PrimExpr) -> Range:
        dom = self._loop_ranges.get(value) if isinstance(value, Var) else None
        if dom is None:
            raise self.source.error(n, f"T.axis.remap takes loop variables, got {value}")
        return dom

    def allocate_buffer(self, buffer: Buffer) -> None:
        """Let a buffer have memory in the block that is open."""
        self.signature.alloc_buffers.append(buffer)

    def match_region(self, n: ast.AST, buffer: Buffer, source: BufferRegion) -> None:
        """Let a buffer stand for a region of another one in the block that is open."""
        signature = self._inside(n, "T.match_buffer of a region")
        signature.match_buffers.append(MatchBufferRegion(buffer, source))
