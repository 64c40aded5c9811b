"""TVMScript printing of blocks."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby

from compiler.ir.expr.primexpr import IterVar, PrimExpr, Range, Var, is_const_int
from compiler.ir.printing.text import TextBuilder
from compiler.ir.scriptable import ScriptOptions
from compiler.ir.structural import structural_equal
from compiler.tir.printing.expr import DEFAULT_OPTIONS
from compiler.tir.printing.literals import string_text
from compiler.tir.printing.scope import Definitions, Names
from compiler.tir.printing.stmt import StmtPrinter
from compiler.tir.statements.block import Block, BlockRealize, MatchBufferRegion, contains_block
from compiler.tir.statements.buffer import Buffer, BufferRegion
from compiler.tir.statements.stmt import For, Stmt

_AXES = {IterVar.DataPar: "spatial", IterVar.CommReduce: "reduce", IterVar.Ordered: "scan", IterVar.DimInfo: "opaque"}
_LETTERS = {IterVar.DataPar: "S", IterVar.CommReduce: "R"}
ROOT = "root"
"""The name of the block that a function with blocks has around all of them."""


class BlockPrinter(StmtPrinter):
    """Writes statements, blocks among them."""

    def __init__(
        self,
        out: TextBuilder,
        definitions: Definitions,
        names: Names | None = None,
        options: ScriptOptions = DEFAULT_OPTIONS,
    ) -> None:
        StmtPrinter.__init__(self, out, definitions, names, options)
        self._loop_ranges: dict[Var, Range] = {}

    def function_body(self, body: Stmt) -> None:
        """Write the body of a function; a root block that says nothing of its own is left to the reader."""
        if not (isinstance(body, BlockRealize) and self.options.syntax_sugar and _is_implied(body)):
            self.body(body, True)
            return
        for n in self.definitions.before.get(body, ()):
            self.definition(n)
        with self.line(body):
            self.out.write(f'# with T.block("{ROOT}"):')
        for buffer in body.block.alloc_buffers:
            self._allocated_buffer(buffer)
        self.body(body.block.body, True)

    def visit_For(self, n: For, last: bool) -> None:
        for loop in self._grid(n):
            self._loop_ranges[loop.loop_var] = Range.from_fields(loop.min, loop.extent)
        StmtPrinter.visit_For(self, n, last)

    def visit_BlockRealize(self, n: BlockRealize, last: bool) -> None:
        with self.line(n):
            self.out.write(f"with T.block({self._block_name(n.block)}):")
        with self.names.scope(), self.out.indented():
            self._axes(n.block.iter_vars, n.iter_values)
            if not is_const_int(n.predicate, 1):
                with self.line(n.predicate):
                    self._call("T.where", n.predicate)
            self._inside(n.block)

    def visit_Block(self, n: Block, last: bool) -> None:
        with self.line(n):
            self.out.write(f"with T.block({self._block_name(n)}, no_realize=True):")
        with self.names.scope(), self.out.indented():
            for axis in n.iter_vars:
                self._axis(axis, None)
            self._inside(n)

    def _block_name(self, block: Block) -> str:
        return string_text(block.name_hint)

    def _inside(self, n: Block) -> None:
        """Write all of a block but its axes."""
        self._access("T.reads", n, n.reads)
        self._access("T.writes", n, n.writes)
        if n.annotations:
            with self.line(n):
                self.out.write("T.block_attr(")
                self.value(n.annotations)
                self.out.write(")")
        for buffer in n.alloc_buffers:
            self._allocated_buffer(buffer)
        for match in n.match_buffers:
            self._match(match)
        if n.init is not None:
            with self.line(n.init):
                self.out.write("with T.init():")
            self.block(n.init)
        self.body(n.body, True)

    # axes

    def _axes(self, axes: Sequence[IterVar], values: Sequence[PrimExpr]) -> None:
        pairs = list(zip(axes, values, strict=True))
        for plain, group in groupby(pairs, key=self._is_remapped):
            run = list(group)
            if plain and len(run) > 1 and self.options.syntax_sugar:
                self._remap(run)
            else:
                for axis, value in run:
                    self._axis(axis, value)

    def _is_remapped(self, pair: tuple[IterVar, PrimExpr]) -> bool:
        """Return whether an axis is just a loop: its variable, over the same range."""
        axis, value = pair
        loop = self._loop_ranges.get(value) if isinstance(value, Var) else None
        return loop is not None and axis.iter_type in _LETTERS and structural_equal(axis.dom, loop)

    def _remap(self, run: Sequence[tuple[IterVar, PrimExpr]]) -> None:
        with self.line(run[0][0]):
            self.out.write(", ".join(self.names.define(axis.var, axis.var.name) for axis, _ in run))
            kinds = "".join(_LETTERS[axis.iter_type] for axis, _ in run)
            self.out.write(f' = T.axis.remap("{kinds}", [')
            self.sequence([value for _, value in run])
            self.out.write("])")

    def _axis(self, axis: IterVar, value: PrimExpr | None) -> None:
        with self.line(axis):
            self.out.write(f"{self.names.define(axis.var, axis.var.name)} = T.axis.{_AXES[axis.iter_type]}(")
            self._domain(axis.dom)
            if value is not None:
                self.out.write(", ")
                self.expr(value)
            self.out.write(")")

    def _domain(self, dom: Range | None) -> None:
        if dom is None:
            self.out.write("None")
        elif is_const_int(dom.min, 0):
            self.expr(dom.extent)
        else:
            self.out.write("(")
            self.expr(dom.min)
            self.out.write(", ")
            self.range_end(dom.min, dom.extent)
            self.out.write(")")

    # regions and buffers

    def _access(self, word: str, n: Block, regions: Sequence[BufferRegion]) -> None:
        with self.line(n):
            self.out.write(f"{word}(")
            for position, region in enumerate(regions):
                self.out.write(", " if position else "")
                self.region(region.buffer, region.region, points=True)
            self.out.write(")")

    def _allocated_buffer(self, buffer: Buffer) -> None:
        with self.line(buffer):
            self.out.write(f"{self.declare(buffer)} = T.alloc_buffer(")
            self.buffer_arguments(buffer)
            self.out.write(")")

    def match_region(self, match: MatchBufferRegion) -> None:
        """Write a buffer that stands for a region of another one, below what has to be declared."""
        for declared in self.definitions.at_top:
            self.definition(declared)
        self._match(match)

    def _match(self, match: MatchBufferRegion) -> None:
        with self.line(match):
            source = match.source
            self.out.write(f"{self.declare(match.buffer)} = T.match_buffer(")
            self.region(source.buffer, source.region, points=True)
            self.out.write(", ")
            self.buffer_arguments(match.buffer)
            self.out.write(")")


def _is_implied(body: BlockRealize) -> bool:
    """Return whether reading a function without its root block gives it one that is just like it."""
    block = body.block
    stated = (block.iter_vars, block.reads, block.writes, block.annotations, block.match_buffers)
    if any(stated) or block.init is not None or block.name_hint != ROOT or not is_const_int(body.predicate, 1):
        return False
    inner_root = isinstance(block.body, BlockRealize) and not block.body.block.iter_vars
    return bool(block.alloc_buffers) or (not inner_root and contains_block(block.body))
