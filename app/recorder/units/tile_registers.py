"""How x86's tile registers (AMX) hold the operands of a product: rows of 64 bytes, the second one's in groups."""

from __future__ import annotations

from collections.abc import Mapping

from app.artifacts import MAX_RULE, Layout
from app.docstrings import shortened
from compiler.ir.expr.primexpr import PrimExpr, Var
from compiler.ir.module import IRModule
from compiler.ir.origin import Span
from compiler.target.codegen.llvm.selection.pair_products import BF16_BITS
from compiler.target.codegen.llvm.selection.tile_products import ROW_BYTES, TileOperand, TileProduct, read_product
from compiler.target.cpu.cpu_features import tile_dtypes
from compiler.target.target import Target
from compiler.tir.statements.function import PrimFunc
from compiler.tir.statements.stmt import TILE_PRODUCT, AttrStmt, LetStmt
from compiler.tir.statements.stmt_functor import StmtVisitor

_GROUP_BYTES = 4
"""Bytes of an element of the sums, and of what is multiplied and added up for it at once."""


def tile_layouts(module: IRModule, target: Target) -> list[Layout]:
    """Return the layouts of the first tile of each operand, where the code for a target multiplies in tiles."""
    known = tile_dtypes(target.triple, target.cpu, target.llvm_features) if target.kind.name == "llvm" else frozenset()
    finder = _Products(known)
    if known:
        for func in module.functions.values():
            if isinstance(func, PrimFunc):
                finder.visit(func.body)
    return [layout for product, span in finder.products[:1] for layout in _of_product(product, span)]


class _Products(StmtVisitor):
    """Finds the loops that are carried out in tile registers."""

    def __init__(self, known: frozenset[str]) -> None:
        self.products: list[tuple[TileProduct, Span]] = []
        self._known = known
        self._definitions: dict[Var, PrimExpr] = {}

    def visit_LetStmt(self, n: LetStmt) -> None:
        self._definitions[n.var] = n.value
        self.visit_Node(n)

    def visit_AttrStmt(self, n: AttrStmt) -> None:
        product = read_product(n.body, self._definitions, self._known) if n.attr_key == TILE_PRODUCT else None
        if product is None:
            self.visit_Node(n)
        else:
            self.products.append((product, n.span))


def _of_product(product: TileProduct, span: Span) -> list[Layout]:
    height = product.parts[0][1]
    lanes, depth = product.extents[product.lanes], product.extents[product.depth]
    group = _GROUP_BYTES // product.left.bytes
    rows: Mapping[str, Var | None] = {"A": product.rows, "B": product.depth, "C": product.rows}
    shapes = {"A": (height, depth * group), "B": (depth * group, lanes), "C": (height, lanes)}
    operands = {"A": product.left, "B": product.right, "C": product.sums}
    return [
        _layout(name, operands[name], shapes[name], rows[name], group if name == "B" else 1, span) for name in operands
    ]


def _layout(
    name: str, operand: TileOperand, shape: tuple[int, int], rows: Var | None, group: int, span: Span
) -> Layout:
    """Return how a tile register holds a matrix, of which ``group`` rows stand side by side in one of its rows."""
    width = ROW_BYTES // operand.bytes
    height, columns = shape
    places = [row // group * width + column * group + row % group for row in range(height) for column in range(columns)]
    memory = [-1] * (-(-height // group) * width)
    for element, place in enumerate(places):
        memory[place] = element
    stride = operand.bytes * (operand.steps[rows] if rows is not None else 0)
    apart = f", rows {stride} bytes apart" if stride else ""
    return Layout(
        name=f"tile of {name}",
        source=name,
        rule=shortened(f"tile of {name}: {operand.buffer.name} from element {operand.base} on{apart}", MAX_RULE),
        dtype="bfloat16" if operand.buffer.dtype == BF16_BITS else operand.buffer.dtype,
        element=operand.bytes,
        shape=list(shape),
        packed=[-(-height // group), width],
        axes=(0, 1),
        rows=height,
        columns=columns,
        offsets=places,
        memory=memory,
        is_tile=True,
        origins=sorted(span),
    )
