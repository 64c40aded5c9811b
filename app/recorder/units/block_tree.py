"""The schedule pane of TensorIR programs: loops around blocks, and nested blocks."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, field
from typing import Literal

from app.artifacts import Loop, SplitLoop, Stage
from app.recorder.units.schedule_tree import LoopRows
from app.recorder.units.schedules import BlockSchedule
from compiler.ir.expr.primexpr import Add, IntImm, IterVar, PrimExpr, is_const_int
from compiler.ir.expr.substitute import uses_var
from compiler.ir.module import IRModule
from compiler.ir.structural import structural_equal
from compiler.tir.statements.block import Block, BlockRealize
from compiler.tir.statements.buffer import BufferLoad, BufferRegion, BufferStore
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import For, ForKind
from compiler.tir.statements.stmt_functor import StmtVisitor

_ANNOTATIONS = {ForKind.UNROLLED: "unroll", ForKind.VECTORIZED: "vectorize", ForKind.PARALLEL: "parallel"}
MAX_BLOCKS = 400
"""The maximum number of blocks that are shown."""


def block_stages(mod: IRModule, loop_rows: LoopRows | None = None) -> list[Stage]:
    """Return the blocks of a program as stages; a loop around several blocks is shown with the first.

    Parameters
    ----------
    loop_rows : callable, optional
        Finds the loop that a loop became; without it, loops know the lines of the script alone.
    """
    places = block_places(mod)
    names = Counter(loop.loop_var.name for place in places for loop in place.loops)
    return [_stage(place, names, loop_rows) for place in places[:MAX_BLOCKS]]


def split_blocks(schedule: BlockSchedule) -> list[SplitLoop]:
    """Return the loops of constant extent that the lines of the script split, refused ones included."""
    return [
        SplitLoop(line=primitive.line, extent=loop.extent.value)
        for primitive in schedule.primitives
        for loop in primitive.loops
        if primitive.name == "split" and primitive.line and isinstance(loop.extent, IntImm)
    ]


@dataclass(slots=True)
class BlockPlace:
    """A block with its loops that are not shown with earlier blocks, and their depth."""

    realize: BlockRealize
    around: str
    """The block and loop that its own loops stand in."""
    depth: int
    loops: list[For] = field(default_factory=list)


def block_places(mod: IRModule) -> list[BlockPlace]:
    """Return the blocks of a program in order, without root blocks."""
    tree = _Tree()
    for func in mod.functions.values():
        if isinstance(func, PrimFunc):
            tree.begin_function()
            tree.visit(func.body)
    return tree.places


class _Tree(StmtVisitor):
    """Collects the blocks in their order."""

    def __init__(self) -> None:
        self.places: list[BlockPlace] = []
        self._path: list[For | Block] = []
        self._shown: set[For | Block] = set()

    def begin_function(self) -> None:
        """Forget where the last function ended."""
        self._path = []

    def visit_For(self, n: For) -> None:
        self._path.append(n)
        self.visit(n.body)
        self._path.pop()

    def visit_BlockRealize(self, n: BlockRealize) -> None:
        is_root = not self._path and not n.block.iter_vars
        if not is_root:
            self._add(n)
        self._path += [] if is_root else [n.block]
        self._shown.update(self._path)
        self.visit(n.block.body)
        if not is_root:
            self._path.pop()

    def _add(self, n: BlockRealize) -> None:
        new = [outer for outer in self._path if outer not in self._shown]
        above = [outer for outer in self._path if outer in self._shown]
        loops = [outer for outer in new if isinstance(outer, For)]
        self.places.append(BlockPlace(n, _place_text(above), len(above), loops))


def _place_text(above: list[For | Block]) -> str:
    """Describe a place: ``in C, at i_0``."""
    blocks = [outer.name_hint for outer in above if isinstance(outer, Block)]
    inner = above[-1] if above else None
    words = [f"in {blocks[-1]}"] if blocks else []
    if isinstance(inner, For):
        words.append(f"at {inner.loop_var.name}")
    return ", ".join(words) or "root"


def _stage(place: BlockPlace, names: Counter[str], loop_rows: LoopRows | None) -> Stage:
    block = place.realize.block
    loops = [_loop(loop, place.depth + index, names, loop_rows) for index, loop in enumerate(place.loops)]
    return Stage(
        name=block.name_hint,
        placement=place.around,
        loops=loops,
        body=_body(block),
        depth=place.depth + len(loops),
        origins=sorted(block.span | place.realize.span),
    )


def _loop(loop: For, depth: int, names: Counter[str], loop_rows: LoopRows | None) -> Loop:
    rows = loop_rows(loop.loop_var, names[loop.loop_var.name] == 1) if loop_rows else []
    return Loop(
        name=loop.loop_var.name,
        extent=str(loop.extent),
        kind=_kind(loop),
        annotation=_annotation(loop),
        origins=rows or sorted(loop.span),
        depth=depth,
    )


def _kind(loop: For) -> Literal["spatial", "reduce", "thread"]:
    if loop.kind == ForKind.THREAD_BINDING:
        return "thread"
    return "reduce" if reduces(loop) else "spatial"


def reduces(loop: For) -> bool:
    """Return whether a loop belongs to a reduction."""
    return _Reduces(loop).reduces


class _Reduces(StmtVisitor):
    """Detects reduction loops, on which a reduction axis of an inner block depends."""

    def __init__(self, loop: For) -> None:
        self.reduces = False
        self._loop = loop
        self.visit(loop.body)

    def visit_BlockRealize(self, n: BlockRealize) -> None:
        for axis, value in zip(n.block.iter_vars, n.iter_values, strict=True):
            if axis.iter_type == IterVar.CommReduce and uses_var(value, self._loop.loop_var):
                self.reduces = True


def _annotation(loop: For) -> str:
    words = [_ANNOTATIONS[loop.kind]] if loop.kind in _ANNOTATIONS else []
    if loop.thread_binding is not None:
        words.append(loop.thread_binding.thread_tag)
    words += [f"{key}={value}" for key, value in loop.annotations.items()]
    return ", ".join(words)


def _body(block: Block) -> str:
    """Describe a block by its single store, or else by the buffers that it writes and reads."""
    stmt = block.body
    if not isinstance(stmt, BufferStore):
        written, read = (", ".join(map(_region, regions)) for regions in (block.writes, block.reads))
        return f"{written} = f({read})" if written else ""
    target = f"{stmt.buffer.name}[{', '.join(map(str, stmt.indices))}]"
    value = stmt.value
    if isinstance(value, Add) and _reads_its_target(value.a, stmt):
        return f"{target} += {value.b}"
    return f"{target} = {value}"


def _reads_its_target(value: PrimExpr, store: BufferStore) -> bool:
    if not isinstance(value, BufferLoad) or value.buffer is not store.buffer:
        return False
    return structural_equal(value.indices, store.indices)


def _region(region: BufferRegion) -> str:
    ranges = [str(r.min) if is_const_int(r.extent, 1) else f"{r.min}:{r.min + r.extent}" for r in region.region]
    return f"{region.buffer.name}[{', '.join(ranges)}]"
