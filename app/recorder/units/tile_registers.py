"""How x86's tile registers (AMX) hold the operands of a product: rows of 64 bytes, the second one's in groups."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from app.artifacts import MAX_RULE, Layout
from app.docstrings import shortened
from compiler.arith import Analyzer
from compiler.ir import dtype as dt
from compiler.ir.expr.primexpr import Call, IntImm, PrimExpr, StringImm, Var
from compiler.ir.expr.substitute import substitute
from compiler.ir.module import IRModule
from compiler.ir.origin import Span
from compiler.target.codegen.llvm.selection.pair_products import BF16_BITS
from compiler.target.codegen.llvm.selection.tile_products import (
    LANES,
    ROW_BYTES,
    TileOperand,
    TileProduct,
    read_product,
)
from compiler.target.cpu.cpu_features import tile_dtypes
from compiler.target.target import Target
from compiler.tir.expressions.builtin import ACCESS_PTR, CALL_LLVM_INTRIN
from compiler.tir.expressions.device_ops import TILE_CONFIGURATION
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import TILE_PRODUCT, AttrStmt, Evaluate, LetStmt
from compiler.tir.statements.stmt_functor import StmtVisitor

_GROUP_BYTES = 4
"""Bytes of an element of the sums, and of what is multiplied and added up for it at once."""


@dataclass(frozen=True, slots=True)
class _Tile:
    """A tile register: the matrix that it holds, and where that lies."""

    name: str
    shape: tuple[int, int]
    buffer: str
    dtype: str
    base: PrimExpr
    """The first element."""
    stride: int
    """Bytes from a row to the next one; 0 where there is one row."""


def tile_layouts(module: IRModule, target: Target) -> list[Layout]:
    """Return the layouts of the first tile of each operand, where the code for a target multiplies in tiles."""
    known = tile_dtypes(target.triple, target.cpu, target.llvm_features) if target.kind.name == "llvm" else frozenset()
    finder = _Products(known)
    if known:
        for func in module.functions.values():
            if isinstance(func, PrimFunc):
                finder.visit(func.body)
    products = [(_of_product(product), span) for product, span in finder.products]
    return [
        _layout(tile, span) for tiles, span in products[:1] or _of_instructions(finder.instructions) for tile in tiles
    ]


class _Products(StmtVisitor):
    """Finds the loops that are carried out in tile registers, and the instructions of tensor intrinsics."""

    def __init__(self, known: frozenset[str]) -> None:
        self.products: list[tuple[TileProduct, Span]] = []
        self.instructions: list[tuple[str, tuple[PrimExpr, ...], Span]] = []
        self._known = known
        self._definitions: dict[Var, PrimExpr] = {}

    def visit_LetStmt(self, n: LetStmt) -> None:
        self._definitions[n.var] = substitute(n.value, self._definitions)
        self.visit_Node(n)

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        product = read_product(n.body, self._definitions, self._known) if n.attr_key == TILE_PRODUCT else None
        if product is None:
            self.visit_Node(n)
        else:
            self.products.append((product, n.span))

    def visit_Evaluate(self, n: Evaluate) -> None:
        if not isinstance(n.value, Call):
            return
        args = tuple(substitute(a, self._definitions) for a in n.value.args)
        if n.value.op is TILE_CONFIGURATION:
            self.instructions.append(("configuration", args, n.span))
        elif n.value.op is CALL_LLVM_INTRIN and isinstance(args[0], StringImm):
            self.instructions.append((args[0].value.removeprefix("llvm.x86."), args[-3:], n.span))


def _of_product(product: TileProduct) -> list[_Tile]:
    height = product.parts[0][1]
    lanes, depth = product.extents[product.lanes], product.extents[product.depth]
    group = _GROUP_BYTES // product.left.bytes
    rows: Mapping[str, Var | None] = {"A": product.rows, "B": product.depth, "C": product.rows}
    shapes = {"A": (height, depth * group), "B": (depth * group, lanes), "C": (height, lanes)}
    operands = {"A": product.left, "B": product.right, "C": product.sums}
    return [_of_operand(name, operands[name], shapes[name], rows[name]) for name in operands]


def _of_operand(name: str, operand: TileOperand, shape: tuple[int, int], rows: Var | None) -> _Tile:
    stride = operand.bytes * (operand.steps[rows] if rows is not None else 0)
    return _Tile(name, shape, operand.buffer.name, operand.buffer.dtype, operand.base, stride)


def _of_instructions(instructions: Sequence[tuple[str, tuple[PrimExpr, ...], Span]]) -> list[tuple[list[_Tile], Span]]:
    """Return the operands of the first product among instructions: as they were loaded, the sums as they are stored."""
    first = next((i for i, (name, _, _) in enumerate(instructions) if name.startswith("tdp")), None)
    if first is None:
        return []
    registers = [a.value for a in instructions[first][1] if isinstance(a, IntImm)]
    sizes: list[int] = []
    moved: dict[int, tuple[PrimExpr, ...]] = {}
    stored = [i for i in instructions[first:] if i[0].startswith("tilestore")]
    for name, args, _ in [*reversed(stored), *instructions[:first]]:
        if name == "configuration":
            sizes = [a.value for a in args if isinstance(a, IntImm)]
        elif name.startswith(("tileload", "tilestore")) and isinstance(args[0], IntImm) and _is_pointer(args[1]):
            moved[args[0].value] = args
    shapes = [tuple(sizes[2 * number : 2 * number + 2]) for number in registers]
    fit = all(len(shape) == 2 and shape[0] <= LANES and shape[1] <= ROW_BYTES for shape in shapes)
    if len(registers) < len("CAB") or not fit or not set(registers) <= set(moved):
        return []
    total, left, right = (
        _of_move(name, moved[number], shape) for name, number, shape in zip("CAB", registers, shapes, strict=True)
    )
    return [([left, right, total], instructions[first][2])]


def _is_pointer(e: PrimExpr) -> bool:
    return isinstance(e, Call) and e.op is ACCESS_PTR


def _of_move(name: str, args: tuple[PrimExpr, ...], size: Sequence[int]) -> _Tile:
    """Return the tile of some rows, and bytes of a row, that a load or a store moves."""
    _, pointer, stride = args
    assert isinstance(pointer, Call)
    kind, data, offset = pointer.args[:3]
    rows, columns = size[0], size[1] // dt.storage_bytes(kind.dtype)
    group = _GROUP_BYTES // dt.storage_bytes(kind.dtype) if name == "B" else 1
    apart = stride.value if isinstance(stride, IntImm) else 0
    return _Tile(name, (rows * group, columns // group), str(data), kind.dtype, Analyzer().simplify(offset), apart)


def _layout(tile: _Tile, span: Span) -> Layout:
    """Return how a tile register holds a matrix, of which a group of rows stands side by side in one row for ``B``."""
    element = dt.storage_bytes(tile.dtype)
    group = _GROUP_BYTES // element if tile.name == "B" else 1
    width = ROW_BYTES // element
    height, columns = tile.shape
    places = [row // group * width + column * group + row % group for row in range(height) for column in range(columns)]
    memory = [-1] * (-(-height // group) * width)
    for number, place in enumerate(places):
        memory[place] = number
    apart = f", rows {tile.stride} bytes apart" if tile.stride else ""
    return Layout(
        name=f"tile of {tile.name}",
        source=tile.name,
        rule=shortened(f"tile of {tile.name}: {tile.buffer} from element {tile.base} on{apart}", MAX_RULE),
        dtype="bfloat16" if tile.dtype == BF16_BITS else tile.dtype,
        element=element,
        shape=list(tile.shape),
        packed=[-(-height // group), width],
        axes=(0, 1),
        rows=height,
        columns=columns,
        offsets=places,
        memory=memory,
        is_tile=True,
        origins=sorted(span),
    )
